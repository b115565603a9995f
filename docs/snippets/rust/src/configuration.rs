//! How a startup handler changes the settings.

use kopf::{Activity, json};

// [settings]

#[kopf::startup]
fn configure(a: Activity) {
    a.settings.set("queueing.worker_limit", 10);
    a.settings.set("persistence.finalizer", "example.com/finalizer");
    a.settings.set("persistence.consistency_timeout", 2);
    a.settings.set("networking.error_backoffs", [1, 2, 4, 8]);
}

// [/settings]

#[kopf::startup]
fn storages(a: Activity) {
    // [status]
    let progress = json!({"type": "status", "field": "status.my-operator.progress"});
    a.settings.set("persistence.progress_storage", progress);
    let handled = json!({"type": "status", "field": "status.my-operator.last-handled"});
    a.settings.set("persistence.diffbase_storage", handled);
    // [/status]

    // [multi]
    let storages = json!([
        {"type": "annotations", "prefix": "my-operator.example.com"},
        {"type": "smart"},
    ]);
    a.settings.set("persistence.progress_storage", storages);
    // [/multi]

    // [ignored]
    let annotations = json!({
        "type": "annotations", "prefix": "my-operator.example.com",
        "ignored_fields": ["spec.replicas"],
    });
    a.settings.set("persistence.diffbase_storage", annotations);
    // [/ignored]
}
