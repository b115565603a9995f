//! The registration: handlers by their decorators.

use crate::state::Case;
use crate::values::{list, text};
use serde_json::{Map, Value, json};
use std::rc::Rc;

/// Reads the case of the configuration.
pub fn case() -> Case {
    let config = |key: &str| extism_pdk::config::get(key).ok().flatten().unwrap_or_default();
    let which = config("KOPF_CASE_OPERATOR");
    let case: Value = serde_json::from_str(&config("KOPF_CASE_JSON_TEXT")).unwrap_or_default();
    let main = which.is_empty() || which == "main";
    let spec = if main { case["operator"].clone() } else { case["operators"][&which].clone() };
    let mut handlers = vec![(Rc::new(json!({"name": "__configure__", "silent": true})), json!({"type": "startup"}))];
    for handler in list(&spec["handlers"]) {
        let function = Rc::new(handler.clone());
        handlers.extend(list(&handler["decorators"]).iter().map(|decorator| (function.clone(), decorator.clone())));
    }
    Case { operator: (!main).then_some(which), spec, handlers }
}

/// The registration of the case.
pub fn register() -> Value {
    let case = crate::state::case();
    let declared: Vec<Value> = case.handlers.iter().map(|(function, decorator)| declare(function, decorator)).collect();
    let mut registration =
        json!({"sdk": "extism-pdk", "operator": {"name": "conformance", "version": "1"}, "handlers": declared});
    if case.spec["lifecycle"].is_string() {
        registration["lifecycle"] = case.spec["lifecycle"].clone();
    }
    registration
}

fn declare(function: &Rc<Value>, decorator: &Value) -> Value {
    let mut handler = options(text(function, "name"), decorator);
    handler["kind"] = decorator["type"].clone();
    handler["fn"] = json!(text(function, "name"));
    if !decorator["resource"].is_null() {
        handler["resource"] = selector(&decorator["resource"]);
    }
    handler
}

/// A sub-handler.
pub fn sub(given: &Value) -> Value {
    let mut handler = options(text(given, "name"), given);
    handler["kind"] = json!("sub");
    handler
}

/// What is written in cases as in messages.
const PLAIN: &[&str] = &[
    "param",
    "errors",
    "retries",
    "timeout",
    "backoff",
    "interval",
    "idle",
    "sharp",
    "optional",
    "deleted",
    "cancellation_backoff",
    "cancellation_timeout",
    "cancellation_polling",
    "operations",
    "subresource",
    "persistent",
    "side_effects",
    "ignore_failures",
];

/// The options of a decorator. What is null is not said; what is no option is not looked at.
fn options(name: &str, given: &Value) -> Value {
    let mut handler = json!({"id": given["id"].as_str().unwrap_or(name)});
    for (name, value) in given.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        match name.as_str() {
            plain if PLAIN.contains(&plain) => handler[plain] = value.clone(),
            "operation" => handler["operations"] = json!([value]),
            "field" => handler["field"] = path(value),
            "value" | "old" | "new" | "when" => handler[name] = filter(value),
            "labels" | "annotations" => {
                let filters = value.as_object().into_iter().flatten();
                handler[name] = filters.map(|(key, f)| (key.clone(), filter(f))).collect::<Map<_, _>>().into();
            }
            "initial_delay" if value.is_object() => handler[name] = function(),
            "initial_delay" => handler[name] = value.clone(),
            _ => {}
        }
    }
    handler
}

fn function() -> Value {
    json!({"$": "FUNCTION"})
}

/// A function, or the given marker or value.
fn filter(given: &Value) -> Value {
    if given.get("$fn").is_some() { function() } else { given.clone() }
}

fn path(field: &Value) -> Value {
    match field.as_str() {
        Some(dotted) => json!(dotted.split('.').collect::<Vec<_>>()),
        None => field.clone(),
    }
}

/// All notations of resources.
fn selector(resource: &Value) -> Value {
    let everything = json!({"$": "EVERYTHING"});
    match resource {
        Value::String(name) => json!({"args": [name]}),
        Value::Array(items) => json!({"args": items}),
        other if other["everything"] == true => json!({"args": [everything]}),
        other if other["everything_in"].is_array() => {
            let mut args = list(&other["everything_in"]).to_vec();
            args.push(everything);
            json!({"args": args})
        }
        other if other["where"].is_object() => json!({"function": true}),
        other => other.clone(),
    }
}
