//! Edits of bodies.

use crate::values::{equal, list, text};
use serde_json::Value;

/// Changes a body in place.
pub fn edit(body: &mut Value, op: &Value) {
    let path: Vec<&str> = list(&op["path"]).iter().filter_map(Value::as_str).collect();
    let Some((last, before)) = path.split_last() else {
        return;
    };
    let target = before.iter().fold(body, |value, key| &mut value[*key]);
    let value = &op["value"];
    match text(op, "do") {
        "set" => target[*last] = value.clone(),
        "append" => {
            let mut items = list(&target[*last]).to_vec();
            items.push(value.clone());
            target[*last] = Value::Array(items);
        }
        "remove" => {
            if let Some(map) = target.as_object_mut() {
                map.remove(*last);
            }
        }
        "remove_value" => {
            let items = list(&target[*last]).iter().filter(|item| !equal(item, value)).cloned();
            target[*last] = items.collect();
        }
        _ => {}
    }
}
