//! Posts Kubernetes events about the handled object, and about another one.

use kopf::{Change, json};

kopf::operator!(create_fn);

#[kopf::create("kopfexamples")]
fn create_fn(c: Change) -> kopf::Result {
    c.events.post("Greeting", "Arrived", "any type, any reason")?;
    c.events.info("Checked", "all is well")?;
    c.events.warn("Slow", "it takes a while")?;
    c.events.exception(&std::io::Error::other("no backup"), "Failed", "the backup:")?;

    let other =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other", "namespace": c.namespace}});
    Ok(c.events.about(other).info("Mentioned", "by an example")?)
}
