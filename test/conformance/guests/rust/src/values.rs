//! Values of cases.

use serde_json::Value;

/// The items of a list; none of anything else.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The text of a field; empty if there is none.
pub fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Whether values are equal in JSON, where 1 is 1.0.
pub fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Python's "in", for lists, maps and texts.
pub fn contains(container: &Value, value: &Value) -> bool {
    match (container, value) {
        (Value::Array(items), value) => items.iter().any(|item| equal(item, value)),
        (Value::Object(map), Value::String(key)) => map.contains_key(key),
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        _ => false,
    }
}

/// Sorts values by their representations in Python.
pub fn sorted_by_repr(mut values: Vec<Value>) -> Value {
    values.sort_by_key(repr);
    Value::Array(values)
}

/// The representation of a value in Python.
fn repr(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.contains('\'') && !text.contains('"') => format!("\"{text}\""),
        Value::String(text) => format!("'{}'", text.replace('\'', "\\'")),
        Value::Array(items) => format!("[{}]", items.iter().map(repr).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let items: Vec<_> = map.iter().map(|(key, value)| format!("'{key}': {}", repr(value))).collect();
            format!("{{{}}}", items.join(", "))
        }
    }
}
