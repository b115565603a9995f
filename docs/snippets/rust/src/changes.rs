//! Handlers of changes.

use kopf::{Cause, Change, Error, Handler, PRESENT, Value, any, json, not};
use serde::Deserialize;
use std::time::Duration;

// [changes]

#[kopf::create("kopfexamples")]
async fn created(c: Change) -> kopf::Result<Value> {
    kopf::info!(c, "a new object with the size {}", c.spec["size"]);
    Ok(json!({"message": "hello"})) // in status.created
}

#[kopf::update("kopfexamples")]
#[kopf::resume("kopfexamples", deleted = true)]
async fn updated(c: Change) {
    for item in c.diff() {
        kopf::info!(c, "{} {:?}: {} -> {}", item.op, item.path, item.old, item.new);
    }
}

#[kopf::delete("kopfexamples", optional = true)]
fn deleted(c: Change) {
    kopf::info!(c, "good bye, {}", c.name);
}

// [/changes]

// [field]

#[kopf::field("kopfexamples", field = "spec.size")]
async fn resized(c: Change) {
    kopf::info!(c, "the size: {} -> {}", c.old, c.new); // values of spec.size
}

// [/field]

// [typed]

#[derive(Deserialize)]
struct Volume {
    size: u32,
    #[serde(default)]
    zones: Vec<String>,
}

#[kopf::create("volumes")]
async fn provision(c: Change<Volume>) -> kopf::Result<u32> {
    let copies = c.spec.zones.len().max(1) as u32; // c.body has all the rest, with any type
    Ok(c.spec.size * copies)
}

// [/typed]

// [errors]

#[kopf::create("kopfexamples", retries = 5, backoff = 10)]
async fn checked(c: Change) -> kopf::Result {
    let Some(size) = c.spec["size"].as_str() else {
        return Err(Error::permanent("the size is not a text"));
    };
    let size: u32 = size.parse()?; // any other error: again after the backoff
    if size > 100 && c.retry == 0 {
        return Err(Error::temporary("wait for space").delay(Duration::from_secs(30)));
    }
    Ok(())
}

// [/errors]

// [subhandlers]

#[kopf::create("kopfexamples")]
async fn parent(c: Change) -> kopf::Result {
    let prepare = async |c: Change| kopf::info!(c, "once");
    c.execute([Handler::sub("prepare", prepare).retries(3)]).await?; // now
    kopf::info!(c, "what follows is done when it has succeeded, or failed for good");
    Ok(())
}

#[kopf::create("kopfexamples")]
async fn implicit(c: Change) {
    for name in ["a", "b", "c"] {
        c.sub(name, async move |c: Change| kopf::info!(c, "creating {name}")); // after this handler
    }
}

// [/subhandlers]

// [filters]

fn is_large(c: &Cause) -> bool {
    c.spec["size"].as_u64() > Some(100)
}

#[kopf::create("kopfexamples", labels = {"app": PRESENT, "tier": any(["a", "b"])}, when = not(is_large))]
#[kopf::update("kopfexamples", field = "spec.size", old = PRESENT, new = |c| c.value != Some(json!(0)))]
async fn filtered(c: Change) {
    kopf::info!(c, "for {}", c.name);
}

// [/filters]
