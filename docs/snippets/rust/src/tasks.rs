//! Timers, daemons, indices.

use kopf::{Daemon, Error, Indexed, Keyed, Timer, Value, json};
use std::time::Duration;

// [timer]

#[kopf::timer("kopfexamples", interval = 60, idle = 10, initial_delay = |c| c.spec["delay"].as_f64().unwrap_or(0.0))]
async fn tick(t: Timer) -> kopf::Result<Value> {
    if t.spec["paused"] == true {
        return Err(Error::temporary("paused").delay(Duration::from_secs(5)));
    }
    Ok(json!({"ticks": t.status["tick"]["ticks"].as_u64().unwrap_or(0) + 1}))
}

// [/timer]

// [daemon]

#[kopf::daemon("kopfexamples", cancellation_timeout = 10)]
async fn watch(mut d: Daemon) -> kopf::Result {
    while !d.stopped() {
        kopf::info!(d, "the size is {}", d.spec["size"]);
        d.wait(Duration::from_secs(60)).await?; // shorter if it is to stop; then d shows the newest object
    }
    kopf::info!(d, "stopped: {:?}", d.stop_reasons());
    Ok(())
}

// [/daemon]

// [index]

#[kopf::index("", "v1", "pods")]
fn by_node(o: Indexed) -> Option<Keyed> {
    let node = o.spec.get("nodeName")?; // none: keep what is there
    Some(Keyed::new().with(node, &o.name))
}

#[kopf::timer("", "v1", "nodes", interval = 60)]
async fn report(t: Timer) {
    let pods = t.index("by_node").get(&t.name);
    kopf::info!(t, "{} pods", pods.len());
}

// [/index]
