//! Settings of cases.

use crate::storages::setting;
use kopf::{Activity, Error, Lifecycle, Value};

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
        if let Some(value) = setting(name, value) {
            a.settings.set(name, value);
        }
    }
    Ok(())
}
