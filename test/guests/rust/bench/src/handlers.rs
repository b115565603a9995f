//! What the operator does. Only what is needed is decoded, as in typed operators.

use crate::frame::{segment, BODY, HEADER};
use serde::Deserialize;
use serde_json::{json, Value};

#[derive(Deserialize)]
struct Registering {
    #[serde(default)]
    config: Config,
}

/// The configuration of the operator.
#[derive(Deserialize, Default)]
struct Config {
    /// Whether log messages about objects are posted as events: "on".
    #[serde(default)]
    posting: String,
}

/// What is read of an invocation.
#[derive(Deserialize)]
struct Invocation<'a> {
    kind: &'a str,
}

#[derive(Deserialize)]
struct Body {
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    field: String,
}

/// Declares the handlers.
pub fn register(request: &[u8]) -> Value {
    let request = match serde_json::from_slice::<Registering>(request) {
        Ok(request) => request,
        Err(err) => return json!({ "error": format!("the request of kopf_register: {err}") }),
    };
    let resource = json!({ "args": ["kopf.dev", "v1", "kopfexamples"] });
    let mut handlers = vec![
        json!({ "kind": "create", "id": "create_fn", "fn": "handlers::create_fn", "resource": resource }),
        json!({ "kind": "update", "id": "update_fn", "fn": "handlers::update_fn", "resource": resource }),
    ];
    if request.config.posting == "on" {
        handlers
            .push(json!({ "kind": "startup", "id": "startup_fn", "fn": "handlers::startup_fn" }));
    }
    json!({
        "sdk": "none",
        "operator": { "name": "rust-bench", "version": env!("CARGO_PKG_VERSION") },
        "handlers": handlers,
    })
}

/// Calls a handler. None of them waits, so the first step is the last one.
pub fn start(frame: &[u8]) -> Value {
    let invocation =
        segment(frame, HEADER).and_then(|header| serde_json::from_slice::<Invocation>(header).ok());
    match invocation.map(|invocation| invocation.kind) {
        Some("startup") => json!({ "step": "done", "settings": { "posting.loggers": true } }),
        Some(_) => copy_field(frame),
        None => failed("a frame without a header"),
    }
}

/// Handles creations and updates.
fn copy_field(frame: &[u8]) -> Value {
    match segment(frame, BODY).map(serde_json::from_slice::<Body>) {
        Some(Ok(body)) => {
            json!({ "step": "done", "patch": { "status": { "field": body.spec.field } } })
        }
        Some(Err(err)) => failed(&format!("the object: {err}")),
        None => failed("a frame without a body"),
    }
}

/// Ends a task with an error.
pub fn failed(message: &str) -> Value {
    json!({ "step": "done", "error": { "kind": "arbitrary", "message": message } })
}
