//! The lines of invocations.

use crate::call::Call;
use crate::functions::{self, OBJECT};
use crate::values::{list, sorted_by_repr, text};
use serde_json::{Map, Value, json};

impl Call<'_> {
    /// The line of an invocation.
    pub fn describe(&self) -> Value {
        let (message, kind) = (self.message, text(self.message, "kind"));
        let mut record = json!({"handler": self.id(), "retry": message["retry"]});
        if !message["param"].is_null() {
            record["param"] = message["param"].clone();
        }
        if !message["body"].is_null() {
            record["name"] = message["name"].clone();
            record["namespace"] = message["namespace"].clone();
        }
        match kind {
            "startup" | "cleanup" | "probe" | "login" => record["activity"] = message["activity"].clone(),
            "event" | "timer" | "daemon" | "index" => record["spec"] = map(self.spec()),
            _ => {
                for part in ["reason", "old", "new"] {
                    record[part] = message[part].clone();
                }
                record["diff"] = sorted_by_repr(list(&message["diff"]).to_vec());
            }
        }
        if kind == "event" {
            record["type"] = message["type"].clone();
        }
        for field in list(&self.function["log"]).iter().filter_map(Value::as_str) {
            if let Some(value) = self.field(field) {
                record[field] = value;
            }
        }
        record
    }

    /// A field that the case asks for.
    fn field(&self, name: &str) -> Option<Value> {
        let body = &self.message["body"];
        Some(match name {
            "runtime" => json!(self.message["runtime"].as_f64().unwrap_or_default().round_ties_even() as u64),
            "memo" => map(&functions::memo(OBJECT, crate::effects::MEMO)),
            "resource" => resource(&self.message["resource"]),
            "finalizers" => json!(list(&body["metadata"]["finalizers"])),
            "annotations" | "labels" => map(&body["metadata"][name]),
            "uid" => self.message["uid"].clone(),
            "body" => body.clone(),
            "meta" => body["metadata"].clone(),
            "spec" | "status" => map(&body[name]),
            _ => return None,
        })
    }
}

/// The value, or an empty map for null.
fn map(value: &Value) -> Value {
    if value.is_null() { Value::Object(Map::new()) } else { value.clone() }
}

/// A resource with its lists sorted.
fn resource(given: &Value) -> Value {
    let mut resource = json!({});
    for name in ["group", "version", "plural", "kind", "singular", "namespaced", "preferred"] {
        resource[name] = given[name].clone();
    }
    for name in ["shortcuts", "categories", "subresources"] {
        resource[name] = sorted_by_repr(list(&given[name]).to_vec());
    }
    resource
}
