//! Handles pods: deletes those whose lifetime, an annotation in seconds, is over.

use kopf::{Capabilities, Change, Daemon, Error, PRESENT};
use std::time::Duration;

const LIFETIME: &str = "example.com/lifetime";

kopf::operator! {
    want: Capabilities::new().kubernetes(&[""], &["pods"], &["delete"]),
    handlers: [pod_in_sight, pod_killer],
}

#[kopf::resume("pods")]
#[kopf::create("pods")]
fn pod_in_sight(c: Change) {
    c.patch.labels().set("example.com/seen", "yes");
}

#[kopf::daemon("pods", annotations = {LIFETIME: PRESENT})]
async fn pod_killer(mut d: Daemon) -> kopf::Result {
    let seconds: f64 = d.annotations[LIFETIME].as_str().unwrap_or_default().parse().map_err(Error::permanent)?;
    let lifetime = Duration::try_from_secs_f64(seconds).map_err(Error::permanent)?; // it may be negative
    if d.wait(lifetime).await? {
        kopf::info!(d, "deleted before its time");
        return Ok(());
    }
    d.api("v1", "pods").delete(&d.name).await?;
    kopf::info!(d, "its time is over");
    Ok(())
}
