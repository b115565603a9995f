//! What the host finds out about a change.

use serde_json::{Map, Value, json};

/// What matters of a body: the last handled state is made of it.
///
/// See <https://docs.kopf.dev/en/latest/continuity/>
pub fn essence(body: &Value) -> Value {
    let mut essence = Map::new();
    for (key, value) in body.as_object().into_iter().flatten() {
        if !matches!(key.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
            essence.insert(key.clone(), value.clone());
        }
    }
    let mut meta = Map::new();
    for key in ["labels", "annotations"] {
        if let Some(value) = body["metadata"].get(key) {
            meta.insert(key.to_owned(), value.clone());
        }
    }
    if !meta.is_empty() {
        essence.insert("metadata".to_owned(), Value::Object(meta));
    }
    Value::Object(essence)
}

/// The differences: `[[op, path, old, new], …]`.
pub fn diff(old: &Value, new: &Value) -> Value {
    let mut items = Vec::new();
    compare(old, new, &mut Vec::new(), &mut items);
    Value::Array(items)
}

fn compare(old: &Value, new: &Value, path: &mut Vec<String>, items: &mut Vec<Value>) {
    match (old, new) {
        (old, new) if old == new => {}
        (Value::Object(old), Value::Object(new)) => {
            let added = new.keys().filter(|key| !old.contains_key(*key));
            for key in old.keys().chain(added) {
                let (old, new) = (old.get(key).unwrap_or(&Value::Null), new.get(key).unwrap_or(&Value::Null));
                path.push(key.clone());
                compare(old, new, path, items);
                path.pop();
            }
        }
        (Value::Null, new) => items.push(json!(["add", path, null, new])),
        (old, Value::Null) => items.push(json!(["remove", path, old, null])),
        (old, new) => items.push(json!(["change", path, old, new])),
    }
}
