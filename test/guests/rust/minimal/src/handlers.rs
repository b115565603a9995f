//! What the operator does.

use crate::host;
use serde_json::{json, Value};

/// Declares the handlers.
pub fn register(request: &Value) -> Value {
    if request["abi"] != 1 {
        return json!({ "error": format!("the host speaks the ABI {}, not 1", request["abi"]) });
    }
    json!({
        "sdk": "none",
        "operator": { "name": "rust-minimal", "version": env!("CARGO_PKG_VERSION") },
        "handlers": [{
            "kind": "create",
            "id": "create_fn",
            "fn": "handlers::create_fn",
            "resource": { "args": ["kopf.dev", "v1", "kopfexamples"] },
        }],
    })
}

/// Handles the creation of an object.
pub fn create_fn(invocation: &Value, body: &Value) -> Value {
    let name = body["metadata"]["name"].as_str().unwrap_or_default();
    let retry = invocation["retry"].as_u64().unwrap_or_default();
    match body["spec"]["fail"].as_str() {
        Some("temporary") if retry == 0 => {
            return failed(json!({ "kind": "temporary", "message": "not yet", "delay": 1 }));
        }
        Some("permanent") => {
            return failed(json!({ "kind": "permanent", "message": "never" }));
        }
        Some("panic") => panic!("the spec of {name} wants a panic"),
        Some("spin") => loop {
            std::hint::black_box(());
        },
        Some("recurse") => {
            recurse(1);
        }
        Some("grow") => {
            let mut all = Vec::new();
            loop {
                all.push(vec![1_u8; 1 << 20]);
                std::hint::black_box(&all);
            }
        }
        _ => {}
    }
    host::info(&format!("{name} is created"));
    json!({
        "step": "done",
        "result": { "message": format!("hello, {name}"), "retry": retry },
        "patch": { "status": { "greeted": true } },
    })
}

/// Has no end, but for that of the stack.
fn recurse(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    if std::hint::black_box(true) {
        return 1 + recurse(frame[depth as usize % 64] + 1);
    }
    depth
}

fn failed(error: Value) -> Value {
    json!({ "step": "done", "error": error })
}
