//! Handlers that the API server asks before it stores objects.

use kopf::{Activity, Error, Review, json};

// [handlers]

#[kopf::validate("kopfexamples", id = "check-size")]
fn check_size(r: Review) -> kopf::Result {
    match r.spec["size"].as_i64() {
        Some(..0) => Err(Error::admission("the size cannot be negative").code(422)),
        Some(101..) => Ok(r.warn("large ones take long")),
        _ => Ok(()),
    }
}

#[kopf::mutate("kopfexamples", id = "fill-in", operation = "CREATE")]
fn fill_in(r: Review) {
    if r.spec.get("size").is_none() {
        r.patch.spec().set("size", 1);
    }
}

// [/handlers]

// [options]

#[kopf::validate(
    "kopfexamples",
    id = "review-deletion",
    operation = "DELETE",
    labels = {"protected": "yes"},
    persistent = true
)]
fn review_deletion(r: Review) -> kopf::Result {
    if r.user_info["username"] != "system:admin" {
        return Err(Error::admission("only administrators delete protected objects").code(403));
    }
    Ok(())
}

// [/options]

// [settings]

#[kopf::startup]
fn configure(a: Activity) {
    a.settings.set("admission.server", json!({"type": "server", "port": 9443}));
    a.settings.set("admission.managed", "my-operator.example.com");
}

// [/settings]
