//! How handlers select objects.

use kopf::{ABSENT, Cause, Change, PRESENT, Value, all, not};

// [metadata]

#[kopf::create(
    "kopfexamples",
    labels = {"tier": "production", "owner": PRESENT},
    annotations = {"example.com/ignore": ABSENT}
)]
fn ready(_: Change) {}

// [/metadata]

// [callback]

fn is_second(c: &Cause) -> bool {
    c.value.as_ref().and_then(Value::as_str).is_some_and(|version| version.starts_with("v2"))
}

#[kopf::update("kopfexamples", labels = {"version": is_second})]
fn upgraded(_: Change) {}

// [/callback]

// [field]

#[kopf::update("kopfexamples", field = "spec.size", old = "small", new = "large")]
fn resized(_: Change) {}

#[kopf::create("kopfexamples", field = ["metadata", "labels", "example.com/tier"], value = PRESENT)]
fn labelled(_: Change) {}

// [/field]

// [when]

#[kopf::create("kopfexamples", when = all([in_test.into(), not(is_paused)]))]
fn selected(_: Change) {}

// [/when]

// [functions]

fn in_test(c: &Cause) -> bool {
    c.namespace.as_deref().is_some_and(|namespace| namespace.starts_with("test-"))
}

fn is_paused(c: &Cause) -> bool {
    c.spec["paused"] == true
}

// [/functions]
