//! A daemon for each object: code that waits, sees the changes of its object, and ends when it
//! is stopped. And work that belongs to no object.

use kopf::{Background, Daemon};
use std::time::Duration;

kopf::operator!(monitor, ticks);

#[kopf::daemon("kopfexamples", cancellation_timeout = 10)]
async fn monitor(mut d: Daemon) -> kopf::Result {
    while !d.wait(Duration::from_secs(2)).await? {
        kopf::info!(d, "still there field={}", d.spec["field"].as_str().unwrap_or_default());
    }
    kopf::info!(d, "good-bye because of {}", d.stop_reasons().join(","));
    Ok(())
}

#[kopf::background]
async fn ticks(b: Background) {
    while !b.wait(Duration::from_secs(2)).await {
        kopf::info!(b, "the operator is there, too");
    }
}
