//! Handlers that are called again and again.

use kopf::{Timer, Value, json};

// [interval]

#[kopf::timer("kopfexamples", interval = 60)]
async fn tick(t: Timer) -> kopf::Result<Value> {
    Ok(json!({"ticks": t.status["tick"]["ticks"].as_u64().unwrap_or(0) + 1}))
}

// [/interval]

// [options]

#[kopf::timer("kopfexamples", id = "sharp", interval = 60, sharp = true)]
#[kopf::timer("kopfexamples", id = "idle", interval = 60, idle = 10)]
#[kopf::timer("kopfexamples", id = "late", interval = 60, initial_delay = 5)]
fn touch(_: Timer) {}

// [/options]
