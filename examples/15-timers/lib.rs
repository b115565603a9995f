//! Handlers that are called again and again, while their objects exist.

use kopf::{Error, Timer, Value, json};
use std::time::Duration;

kopf::operator!(often, when_idle, on_the_dot);

#[kopf::timer("kopfexamples", interval = 2)]
fn often(t: Timer) -> kopf::Result<Value> {
    Ok(json!({"field": t.spec["field"]})) // to the status
}

#[kopf::timer("kopfexamples", id = "whenIdle", idle = 5, interval = 5)]
fn when_idle(t: Timer) {
    kopf::info!(t, "nothing has changed for 5 seconds");
}

/// It takes a while, but begins every 3 seconds; the first attempt for each object fails.
#[kopf::timer("kopfexamples", id = "onTheDot", interval = 3, sharp = true, initial_delay = 1)]
async fn on_the_dot(t: Timer) -> kopf::Result {
    let failed = t.memo.update("failed", |old: Option<u32>| old.unwrap_or(0) + 1)?;
    if failed == 1 {
        return Err(Error::temporary("not now").delay(Duration::from_secs(1)));
    }
    Ok(t.sleep(Duration::from_secs(1)).await?)
}
