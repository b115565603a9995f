//! One handler for each thing that happens to an object, and two for some of them.

use kopf::{Change, Error, Value, json};
use std::time::Duration;

kopf::operator!(created_first, created_second, resumed, updated, changed, deleted_first, deleted_second);

#[kopf::create("kopfexamples")]
fn created_first(_: Change) -> kopf::Result<&'static str> {
    Ok("yes")
}

#[kopf::create("kopfexamples")]
fn created_second(c: Change) -> kopf::Result<Option<Value>> {
    Ok(c.spec.get("field").cloned())
}

#[kopf::resume("kopfexamples")]
fn resumed(c: Change) {
    c.patch.status().set("resumed", true); // the operator has restarted, and the object is not new
}

#[kopf::update("kopfexamples")]
fn updated(c: Change) -> kopf::Result<Value> {
    Ok(c.diff().iter().map(|item| json!([item.op, item.path.join("."), item.old, item.new])).collect())
}

#[kopf::field("kopfexamples", field = "spec.field")]
fn changed(c: Change) -> kopf::Result<String> {
    let text = |value: &Value| value.as_str().unwrap_or("None").to_owned();
    Ok(format!("{} -> {}", text(&c.old), text(&c.new)))
}

#[kopf::delete("kopfexamples")]
fn deleted_first(c: Change) {
    kopf::info!(c, "the object waits for this handler");
}

#[kopf::delete("kopfexamples")]
fn deleted_second(c: Change) -> kopf::Result {
    if c.retry == 0 {
        return Err(Error::temporary("and for this one").delay(Duration::from_secs(1)));
    }
    kopf::info!(c, "good-bye");
    Ok(())
}
