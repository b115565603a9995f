//! The Rust guest of the benchmarks: two handlers that copy one field of the spec to the status.

use kopf::{Activity, Change, Handler, Operator};
use serde::Deserialize;

#[derive(Deserialize)]
struct Spec {
    field: String,
}

#[kopf::create("kopf.dev", "v1", "kopfexamples")]
async fn create_fn(c: Change<Spec>) {
    c.patch.status().set("field", &c.spec.field);
}

#[kopf::update("kopf.dev", "v1", "kopfexamples")]
async fn update_fn(c: Change<Spec>) {
    c.patch.status().set("field", &c.spec.field);
}

/// With `posting` on, log messages about objects are posted as events.
fn setup(operator: &mut Operator) -> kopf::Result {
    if kopf::config("posting").as_deref() == Some("on") {
        let startup_fn = async |a: Activity| a.settings.set("posting.loggers", true);
        operator.add(Handler::startup(startup_fn).id("startup_fn"));
    }
    Ok(())
}

kopf::operator! {
    name: "rust-bench",
    setup: setup,
    handlers: [create_fn, update_fn],
}
