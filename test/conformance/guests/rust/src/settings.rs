//! Settings of cases.

use crate::values::{list, text};
use kopf::{Activity, Error, Lifecycle, Value, json};

pub fn lifecycle(name: &str) -> Result<Lifecycle, Error> {
    Ok(match name {
        "asap" => Lifecycle::AsSoonAsPossible,
        "one_by_one" => Lifecycle::OneByOne,
        "all_at_once" => Lifecycle::AllAtOnce,
        "randomized" => Lifecycle::Randomized,
        "shuffled" => Lifecycle::Shuffled,
        other => return Err(Error::permanent(format_args!("unknown lifecycle: {other}"))),
    })
}

/// Sets settings, by their dotted names.
pub fn configure(a: &Activity, values: &Value) -> kopf::Result {
    for (name, value) in values.as_object().into_iter().flatten() {
        let value = match name.as_str() {
            "admission.server" | "admission.managed" => continue, // these are up to whoever runs a guest
            "persistence.progress_storage" | "persistence.diffbase_storage" => storage(value),
            "posting.level" if value.is_string() => json!(match value.as_str() {
                Some("DEBUG") => 10,
                Some("INFO") => 20,
                Some("WARNING") => 30,
                _ => 40,
            }),
            _ => value.clone(),
        };
        a.settings.set(name, value);
    }
    Ok(())
}

/// A storage in the form of the host: its kind as "type", and several as a list.
fn storage(value: &Value) -> Value {
    if text(value, "storage") == "multi" {
        return list(&value["storages"]).iter().map(storage).collect();
    }
    let renamed = |key: &String| {
        if key == "storage" { "type".to_owned() } else { key.clone() }
    };
    value.as_object().into_iter().flatten().map(|(key, item)| (renamed(key), item.clone())).collect()
}
