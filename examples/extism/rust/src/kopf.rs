//! What an operator needs of Kopf, on top of Extism's plugin development kit.
//! Messages: abi/SPEC.md of Kopf, "Plugins of Extism".
use extism_pdk::*;
use serde_json::{json, Value};

/// What a handler returns.
pub type Outcome = Result<Done, Failure>;

/// A handler that has ended well: its result and its merge patch, null for none.
#[derive(Default)]
pub struct Done {
    pub result: Value,
    pub patch: Value,
}

/// A handler that has failed.
pub enum Failure {
    Temporary { message: String, delay: f64 },
    Permanent(String),
}

/// A declared handler: its kind, id and resource, further options, and its function.
pub struct Handler {
    pub kind: &'static str,
    pub id: &'static str,
    pub resource: &'static str,
    pub options: Value,
    pub run: fn(&Value) -> Outcome,
}

#[host_fn]
extern "ExtismHost" {
    fn kopf_call(call: Json<Value>) -> Json<Value>;
}

/// Applies an object (server-side apply), within the grants. The answer is the object.
pub fn apply(path: &str, object: Value) -> Result<Value, Failure> {
    let call = json!({
        "target": "kubernetes", "method": "PATCH", "path": format!("{path}?fieldManager=demo"), "body": object,
        "headers": {"Content-Type": ["application/apply-patch+yaml"]},
    });
    let Json(answer) = unsafe { kopf_call(Json(call)) }.map_err(|e| Failure::Permanent(e.to_string()))?;
    if let Some(message) = answer["error"]["message"].as_str() {
        return Err(Failure::Permanent(message.into()));
    }
    let response = &answer["response"];
    if response["status"].as_u64().unwrap_or(0) >= 300 {
        let message = response["body"]["message"].as_str().unwrap_or("the API refuses the request");
        return Err(Failure::Temporary { message: message.into(), delay: 10.0 });
    }
    Ok(response["body"].clone())
}

/// The registration of the handlers.
pub fn register(handlers: &[Handler]) -> Value {
    let declared: Vec<Value> = handlers
        .iter()
        .map(|h| {
            let mut d = json!({"kind": h.kind, "id": h.id, "fn": h.id, "resource": {"args": [h.resource]}});
            if let (Value::Object(into), Value::Object(options)) = (&mut d, h.options.clone()) {
                into.extend(options);
            }
            d
        })
        .collect();
    json!({"sdk": "extism-pdk", "handlers": declared})
}

/// Calls the handler that a message is for, and makes the answer.
pub fn start(handlers: &[Handler], message: &Value) -> Value {
    let index = message["handler"].as_u64().unwrap_or(u64::MAX) as usize;
    match handlers.get(index).map(|h| (h.run)(message)) {
        Some(Ok(done)) => json!({"step": "done", "result": done.result, "patch": done.patch}),
        Some(Err(Failure::Temporary { message, delay })) => {
            json!({"step": "done", "error": {"kind": "temporary", "message": message, "delay": delay}})
        }
        Some(Err(Failure::Permanent(message))) => {
            json!({"step": "done", "error": {"kind": "permanent", "message": message}})
        }
        None => json!({"step": "done", "error": {"kind": "permanent", "message": "no such handler"}}),
    }
}
