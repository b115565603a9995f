//! The life of tasks: a handler that waits is kept until it is resumed.

use crate::frame::{segment, BODY, HEADER};
use crate::handlers;
use serde_json::{json, Value};
use std::cell::RefCell;
use std::collections::HashMap;

/// What a waiting handler needs when it goes on.
struct Waiting {
    invocation: Value,
    body: Value,
}

thread_local! {
    static TASKS: RefCell<HashMap<u32, Waiting>> = RefCell::new(HashMap::new());
}

/// Starts a handler: it waits first if its object says so.
pub fn start(task: u32, frame: &[u8]) -> Value {
    let (Some(invocation), Some(body)) = (json_segment(frame, HEADER), json_segment(frame, BODY)) else {
        return broken("a frame without a header or a body");
    };
    let Some(seconds) = body["spec"]["wait"].as_f64() else {
        return handlers::create_fn(&invocation, &body);
    };
    TASKS.with_borrow_mut(|tasks| tasks.insert(task, Waiting { invocation, body }));
    json!({ "step": "wait", "seconds": seconds })
}

/// Goes on with a handler that has waited. If it is cancelled instead, it ends.
pub fn resume(task: u32, answer: &[u8]) -> Value {
    let Some(waiting) = TASKS.with_borrow_mut(|tasks| tasks.remove(&task)) else {
        return broken("no such task waits");
    };
    match serde_json::from_slice::<Value>(answer) {
        Ok(answer) if answer["cancelled"] == true => broken("cancelled while it waited"),
        Ok(_) => handlers::create_fn(&waiting.invocation, &waiting.body),
        Err(err) => broken(&format!("the answer of kopf_resume: {err}")),
    }
}

fn json_segment(frame: &[u8], tag: u32) -> Option<Value> {
    serde_json::from_slice(segment(frame, tag)?).ok()
}

fn broken(message: &str) -> Value {
    json!({ "step": "done", "error": { "kind": "arbitrary", "message": message } })
}
