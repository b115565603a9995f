//! Operations with effects on the object and on others.

use crate::call::{Call, emit};
use crate::functions::{self, KEYS, OBJECT, VALUES};
use crate::script::{Outcome, permanent};
use crate::values::{list, sorted_by_repr, text};
use extism_pdk::{LogLevel, log};
use serde_json::{Value, json};

/// The key of the one document that scripts use as the memo.
pub const MEMO: &str = "memo";

impl Call<'_> {
    /// An operation that neither ends the script nor waits.
    pub fn effect(&mut self, name: &str, arg: &Value) -> Outcome {
        match name {
            "mark" => self.mark(arg.clone(), json!({})),
            "log" => log!(level(text(arg, "level")), "{}", text(arg, "msg")),
            "memo" => {
                let mut memo = functions::memo(OBJECT, MEMO);
                set_all(&mut memo, arg);
                functions::remember(OBJECT, MEMO, &memo);
            }
            "memo_count" => {
                let mut memo = functions::memo(OBJECT, MEMO);
                let key = arg.as_str().unwrap_or_default();
                memo[key] = json!(memo[key].as_u64().unwrap_or(0) + 1);
                functions::remember(OBJECT, MEMO, &memo);
            }
            "admission_warning" => self.warnings.push(arg.clone()),
            "dump_index" => dump(arg),
            "event" | "info" | "warn" | "exception" => return post(name, arg),
            "patch" => merge(&mut self.patch, arg),
            "patch_meta" => merge(&mut self.patch["metadata"], arg),
            "patch_status" => set_all(&mut self.patch["status"], arg),
            "patch_spec" => set_all(&mut self.patch["spec"], arg),
            "patch_annotations" => set_all(&mut self.patch["metadata"]["annotations"], arg),
            "patch_labels" => set_all(&mut self.patch["metadata"]["labels"], arg),
            "edit" => self.left.edits.extend(list(arg).iter().cloned()),
            _ => return Err(permanent(&format!("unknown op, or not for plugins: {name}"))),
        }
        Ok(())
    }

    /// Prints a line that is not of an invocation.
    pub fn mark(&self, mark: Value, more: Value) {
        let mut record = json!({"mark": mark, "handler": self.id(), "name": self.message["name"]});
        set_all(&mut record, &more);
        emit(record);
    }
}

fn level(name: &str) -> LogLevel {
    match name {
        "debug" => LogLevel::Debug,
        "warning" => LogLevel::Warn,
        "error" | "exception" | "critical" => LogLevel::Error,
        _ => LogLevel::Info,
    }
}

/// Prints the contents of indices.
fn dump(names: &Value) {
    for name in list(names).iter().filter_map(Value::as_str) {
        let mut content = json!({});
        for key in list(&functions::index(KEYS, name, &Value::Null)) {
            let values = functions::index(VALUES, name, key);
            content[key.to_string()] = sorted_by_repr(list(&values).to_vec());
        }
        emit(json!({"index": name, "content": content}));
    }
}

fn post(name: &str, arg: &Value) -> Outcome {
    let (level, kind, message) = match name {
        "info" => (20, "Normal", text(arg, "message").to_owned()),
        "warn" => (30, "Warning", text(arg, "message").to_owned()),
        "exception" => {
            let error = arg["exc"].as_str().unwrap_or("boo");
            (40, "Error", format!("{} {error}", text(arg, "message")).trim().to_owned())
        }
        _ => (0, text(arg, "type"), text(arg, "message").to_owned()),
    };
    let reason = match text(arg, "reason") {
        "" if name == "exception" => "ValueError",
        reason => reason,
    };
    let event = json!({"level": level, "type": kind, "reason": reason, "message": message});
    functions::event(&event).map_err(|error| permanent(&error))
}

/// Merges values; those that are null stay null.
fn merge(into: &mut Value, values: &Value) {
    for (key, value) in values.as_object().into_iter().flatten() {
        match value {
            Value::Object(map) if !map.is_empty() => merge(&mut into[key], value),
            _ => into[key] = value.clone(),
        }
    }
}

/// Sets values without merging them.
fn set_all(into: &mut Value, values: &Value) {
    for (key, value) in values.as_object().into_iter().flatten() {
        into[key] = value.clone();
    }
}
