mod kopf;

use extism_pdk::*;
use kopf::{Done, Failure, Handler, Outcome};
use serde_json::{json, Value};

const HANDLERS: &[Handler] = &[
    Handler { kind: "create", id: "create_fn", resource: "kopfexamples", options: Value::Null, run: create_fn },
    Handler { kind: "update", id: "update_fn", resource: "kopfexamples", options: Value::Null, run: update_fn },
];

fn create_fn(message: &Value) -> Outcome {
    let (spec, name) = (&message["body"]["spec"], message["name"].as_str().unwrap_or_default());
    info!("a new object field={}", spec["field"].as_str().unwrap_or_default());
    if let Some(map) = spec["configMap"].as_str() {
        let namespace = message["namespace"].as_str().unwrap_or_default();
        kopf::apply(
            &format!("/api/v1/namespaces/{namespace}/configmaps/{map}"),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": map}, "data": {"of": name}}),
        )?;
    }
    Ok(Done { result: json!({"message": format!("hello, {name}")}), patch: json!({"status": {"seen": true}}) })
}

fn update_fn(message: &Value) -> Outcome {
    if message["retry"] == 0 {
        return Err(Failure::Temporary { message: "not yet".into(), delay: 0.1 });
    }
    Err(Failure::Permanent("never".into()))
}

#[plugin_fn]
pub fn kopf_register(_: Vec<u8>) -> FnResult<Json<Value>> {
    Ok(Json(kopf::register(HANDLERS)))
}

#[plugin_fn]
pub fn kopf_start(Json(message): Json<Value>) -> FnResult<Json<Value>> {
    Ok(Json(kopf::start(HANDLERS, &message)))
}
