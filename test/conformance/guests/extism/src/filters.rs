//! Answers to questions about filters.

use crate::call::emit;
use crate::state;
use crate::values::{contains, equal, list, text};
use extism_pdk::Error;
use serde_json::{Value, json};

/// Evaluates the callbacks of one handler until one does not hold.
pub fn answer(message: &Value, question: &Value) -> Result<Value, Error> {
    let options = state::options(question)?;
    let mut verdict = json!(true);
    for callback in list(&question["callbacks"]) {
        verdict = match evaluate(message, &options, callback) {
            Ok(value) => value,
            Err(problem) => {
                return Ok(json!({"error": {"kind": "arbitrary", "message": problem, "type": "ValueError"}}));
            }
        };
        if verdict != true {
            break;
        }
    }
    Ok(json!({"value": verdict}))
}

fn evaluate(message: &Value, options: &Value, callback: &Value) -> Result<Value, String> {
    let option = text(callback, "option");
    let mut given = &options[option];
    match option {
        "initial_delay" => {
            emit(json!({"callback": "initial_delay"}));
            return Ok(given["delay"].clone());
        }
        "resource" => return Ok(json!(message["resource"]["group"] == options["resource"]["where"]["group"])),
        "when" => return holds(given, &|f| when(f, message)).map(Value::Bool),
        "labels" | "annotations" => given = &given[text(callback, "key")],
        _ => {}
    }
    // Absent fields are shown by a marker that equals nothing; labels and annotations by null.
    let of_field = callback["key"].is_null();
    for item in list(&callback["values"]) {
        let value = if of_field && item["absent"] == true { None } else { Some(&item["value"]) };
        if holds(given, &|f| check(f, value))? {
            return Ok(json!(true));
        }
    }
    Ok(json!(false))
}

/// A combination, or a single function.
fn holds(filter: &Value, single: &dyn Fn(&Value) -> Result<bool, String>) -> Result<bool, String> {
    let arg = &filter["arg"];
    let items = if arg.is_array() { list(arg) } else { std::slice::from_ref(arg) };
    let mut each = items.iter().map(|item| match item.get("$fn") {
        Some(_) => holds(item, single),
        None => Ok(equal(item, &Value::Null)),
    });
    match text(filter, "$fn") {
        "not" => Ok(!each.next().unwrap_or(Ok(false))?),
        "all" => each.try_fold(true, |all, item| Ok(all && item?)),
        "any" => each.try_fold(false, |any, item| Ok(any || item?)),
        "none" => each.try_fold(true, |none, item| Ok(none && !item?)),
        _ => single(filter),
    }
}

/// A function of a value; `None` is the marker for an absent field.
fn check(filter: &Value, value: Option<&Value>) -> Result<bool, String> {
    let (name, arg) = (text(filter, "$fn"), &filter["arg"]);
    if !filter["log"].is_null() {
        let shown = value.cloned().unwrap_or_else(|| json!("<_UNSET>"));
        emit(json!({"callback": name, "value": shown, "kwargs": null}));
    }
    let Some(value) = value else {
        return Ok(matches!(name, "ne" | "broken_if" | "true"));
    };
    Ok(match name {
        "eq" => equal(value, arg),
        "ne" => !equal(value, arg),
        "in" => contains(arg, value),
        "gt" => matches!((value.as_f64(), arg.as_f64()), (Some(value), Some(limit)) if value > limit),
        "is_none" => value.is_null(),
        "is_str" => value.is_string(),
        "true" | "false" => name == "true",
        "broken_if" if equal(value, arg) => return Err("a broken filter".to_owned()),
        "broken_if" => true,
        _ => return Err(format!("unknown callback: {name}")),
    })
}

/// A function of everything.
fn when(filter: &Value, message: &Value) -> Result<bool, String> {
    let (name, arg, spec) = (text(filter, "$fn"), &filter["arg"], &message["body"]["spec"]);
    if !filter["log"].is_null() {
        emit(json!({"callback": name, "when": filter["tag"]}));
    }
    Ok(match name {
        "spec_eq" => equal(&spec[arg[0].as_str().unwrap_or_default()], &arg[1]),
        "has_spec" => spec.get(arg.as_str().unwrap_or_default()).is_some(),
        "name_eq" => message["name"] == *arg,
        "reason_is" => message["reason"] == *arg,
        "event_type_is" => message["type"] == *arg,
        "true" | "false" => name == "true",
        _ => return Err(format!("unknown callback: {name}")),
    })
}
