//! Filters by their descriptions.

use crate::cases::Spec;
use crate::values::{contains, equal, list};
use kopf::{ABSENT, Cause, Filter, PRESENT, Value, all, any, json, none, not};
use std::rc::Rc;

/// The filters of labels or annotations.
pub fn each(filters: &Value) -> impl Iterator<Item = (&String, &Value)> {
    filters.as_object().into_iter().flatten()
}

/// A marker, a function, or a value; for labels and annotations.
pub fn of_value(spec: &Rc<Spec>, filter: &Value) -> Filter {
    one_of(spec, filter, value_check)
}

/// The same for the value of a field.
pub fn of_field(spec: &Rc<Spec>, filter: &Value) -> Filter {
    one_of(spec, filter, field_check)
}

fn one_of(spec: &Rc<Spec>, filter: &Value, single: fn(&Rc<Spec>, &Value) -> Filter) -> Filter {
    match (filter["$"].as_str(), filter.get("$fn")) {
        (Some("PRESENT"), _) => PRESENT,
        (Some("ABSENT"), _) => ABSENT,
        (_, Some(_)) => combined(spec, filter, single),
        _ => Filter::from(filter.clone()),
    }
}

/// A filter of everything.
pub fn of_all(spec: &Rc<Spec>, filter: &Value) -> Filter {
    combined(spec, filter, when_check)
}

/// A combination, or a single function.
fn combined(spec: &Rc<Spec>, filter: &Value, single: fn(&Rc<Spec>, &Value) -> Filter) -> Filter {
    let arg = &filter["arg"];
    let items = if arg.is_array() { list(arg) } else { std::slice::from_ref(arg) };
    let mut parts: Vec<Filter> = Vec::new();
    for item in items.iter().filter(|item| item.get("$fn").is_some()) {
        parts.push(combined(spec, item, single));
    }
    match filter["$fn"].as_str() {
        Some("not") => not(parts.remove(0)),
        Some("all") => all(parts),
        Some("any") => any(parts),
        Some("none") => none(parts),
        _ => single(spec, filter),
    }
}

/// How the reference shows the absent value of a field to its callbacks: a marker that
/// is not None, and equals nothing. For labels and annotations, it is None.
const UNSET: &str = "<_UNSET>";

fn value_check(spec: &Rc<Spec>, filter: &Value) -> Filter {
    check(spec, filter, false)
}

fn field_check(spec: &Rc<Spec>, filter: &Value) -> Filter {
    check(spec, filter, true)
}

/// A function of a value.
fn check(spec: &Rc<Spec>, filter: &Value, field: bool) -> Filter {
    let (spec, filter) = (spec.clone(), filter.clone());
    Filter::check(move |c: &Cause| {
        let (name, arg) = (filter["$fn"].as_str().unwrap_or_default(), &filter["arg"]);
        let unset = field && c.value.is_none();
        let value = if unset { json!(UNSET) } else { c.value.clone().unwrap_or_default() };
        if !filter["log"].is_null() {
            spec.interpreter.emit(json!({"callback": name, "value": value, "kwargs": null}));
        }
        if unset {
            return matches!(name, "ne" | "broken_if" | "true");
        }
        match name {
            "eq" => equal(&value, arg),
            "ne" => !equal(&value, arg),
            "in" => contains(arg, &value),
            "gt" => match (value.as_i64(), arg.as_i64()) {
                (Some(value), Some(limit)) => value > limit, // as they are: floats have fewer digits
                _ => matches!((value.as_f64(), arg.as_f64()), (Some(value), Some(limit)) if value > limit),
            },
            "is_none" => value.is_null(),
            "is_str" => value.is_string(),
            "true" | "false" => name == "true",
            "broken_if" if equal(&value, arg) => panic!("a broken filter"),
            "broken_if" => true,
            _ => panic!("unknown callback: {name}"),
        }
    })
}

/// A function of everything.
fn when_check(spec: &Rc<Spec>, filter: &Value) -> Filter {
    let (spec, filter) = (spec.clone(), filter.clone());
    Filter::check(move |c: &Cause| {
        let (name, arg) = (filter["$fn"].as_str().unwrap_or_default(), &filter["arg"]);
        if !filter["log"].is_null() {
            spec.interpreter.emit(json!({"callback": name, "when": filter["tag"]}));
        }
        match name {
            "spec_eq" => equal(&c.spec[arg[0].as_str().unwrap_or_default()], &arg[1]),
            "has_spec" => c.spec.get(arg.as_str().unwrap_or_default()).is_some(),
            "name_eq" => *arg == *c.name,
            "reason_is" => *arg == *c.reason,
            "event_type_is" => json!(c.event_type) == *arg,
            "operation_is" => *arg == *c.operation,
            "true" | "false" => name == "true",
            _ => panic!("unknown callback: {name}"),
        }
    })
}
