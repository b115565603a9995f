//! How handlers post Kubernetes events.

use kopf::{Change, json};

// [events]

#[kopf::create("kopfexamples")]
async fn create(c: Change) -> kopf::Result {
    c.events.info("Created", "the volume is there")?;
    c.events.warn("Slow", "it took a while")?;
    if let Err(err) = "no backup".parse::<u32>() {
        c.events.exception(&err, "", "the backup failed:")?;
    }
    Ok(())
}

// [/events]

// [about]

#[kopf::update("kopfexamples")]
async fn update(c: Change) -> kopf::Result {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default", "name": "pod-1"}});
    Ok(c.events.about(pod).post("Normal", "Restarted", "by the operator")?)
}

// [/about]
