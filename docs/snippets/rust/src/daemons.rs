//! Handlers that run as long as an object exists, or as the operator runs.

use kopf::{Background, Daemon, PRESENT};
use std::time::Duration;

// [daemon]

#[kopf::daemon("kopfexamples")]
async fn monitor(mut d: Daemon) -> kopf::Result {
    while !d.stopped() {
        kopf::info!(d, "still there field={}", d.spec["field"]); // the newest one
        d.wait(Duration::from_secs(10)).await?;
    }
    kopf::info!(d, "good-bye why={:?}", d.stop_reasons());
    Ok(())
}

// [/daemon]

// [sleep]

#[kopf::daemon("kopfexamples")]
async fn backup(mut d: Daemon) -> kopf::Result {
    while !d.stopped() {
        d.sleep(Duration::from_secs(3600)).await?; // an error: cancelled
    }
    Ok(())
}

// [/sleep]

// [options]

#[kopf::daemon(
    "kopfexamples",
    labels = {"backup": PRESENT},
    initial_delay = 30,
    cancellation_backoff = 10,
    cancellation_timeout = 20
)]
async fn archive(mut d: Daemon) -> kopf::Result {
    while !d.wait(Duration::from_secs(3600)).await? {}
    Ok(())
}

// [/options]

// [background]

#[kopf::background]
async fn poll(b: Background) -> kopf::Result {
    let mut polls = 0;
    while !b.wait(Duration::from_secs(60)).await {
        polls += 1;
        b.memo.set("polls", &polls)?;
    }
    Ok(())
}

// [/background]
