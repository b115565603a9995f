//! Settings in the form of the host.

use crate::values::{list, text};
use serde_json::{Value, json};

/// A setting of a case; `None` if the host sets it, not the guest.
pub fn setting(name: &str, value: &Value) -> Option<Value> {
    Some(match name {
        "admission.server" | "admission.managed" => return None,
        "persistence.progress_storage" | "persistence.diffbase_storage" => storage(value),
        "posting.level" if value.is_string() => json!(match value.as_str() {
            Some("DEBUG") => 10,
            Some("INFO") => 20,
            Some("WARNING") => 30,
            _ => 40,
        }),
        _ => value.clone(),
    })
}

/// A storage: its kind as "type", and several as a list.
fn storage(value: &Value) -> Value {
    if text(value, "storage") == "multi" {
        return list(&value["storages"]).iter().map(storage).collect();
    }
    let renamed = |key: &String| {
        if key == "storage" { "type".to_owned() } else { key.clone() }
    };
    value.as_object().into_iter().flatten().map(|(key, item)| (renamed(key), item.clone())).collect()
}
