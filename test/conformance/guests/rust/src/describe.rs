//! The lines of invocations.

use crate::call::{Argument, Call};
use crate::values::{list, sorted_by_repr};
use kopf::{DiffItem, Object, Resource, Review, Value, json};

impl Call {
    /// The line of an invocation.
    pub fn describe(&self) -> Value {
        let mut record = json!({"handler": self.base.id, "retry": self.base.retry});
        if !self.base.param.is_null() {
            record["param"] = self.base.param.clone();
        }
        if let Some(object) = self.object() {
            record["name"] = nullable(&object.name);
            record["namespace"] = json!(object.namespace);
        }
        match &self.argument {
            Argument::Change(c) => {
                record["reason"] = json!(c.reason);
                record["old"] = json!(c.old);
                record["new"] = json!(c.new);
                record["diff"] = diff(c.diff(), &[]);
            }
            Argument::Review(r) => review(&mut record, r),
            Argument::Activity(a) => record["activity"] = json!(a.activity),
            _ => record["spec"] = json!(self.object().map(|object| object.spec)),
        }
        if let Argument::Event(e) = &self.argument {
            record["type"] = json!(e.event_type);
        }
        for field in list(&self.spec.given["log"]).iter().filter_map(Value::as_str) {
            self.describe_field(&mut record, field);
        }
        record
    }

    /// Adds a field that the case asks for.
    fn describe_field(&self, record: &mut Value, field: &str) {
        match field {
            "runtime" => record[field] = json!(self.base.runtime.as_secs_f64().round_ties_even() as u64),
            "memo" => record[field] = self.memo_document(),
            _ => {}
        }
        let Some(object) = self.object() else { return };
        if let Some(value) = part(&object, field) {
            record[field] = value;
        }
    }
}

fn part(o: &Object, field: &str) -> Option<Value> {
    Some(match field {
        "resource" => resource(&o.resource),
        "finalizers" => json!(list(&o.meta["finalizers"])),
        "annotations" => json!(o.annotations),
        "labels" => json!(o.labels),
        "body" => json!(o.body),
        "meta" => json!(o.meta),
        "spec" => json!(o.spec),
        "status" => json!(o.status),
        "uid" => nullable(&o.uid),
        _ => return None,
    })
}

fn review(record: &mut Value, r: &Review) {
    if let Some(record) = record.as_object_mut() {
        record.remove("retry");
    }
    record["operation"] = json!(Some(&r.operation).filter(|operation| !operation.is_empty()));
    record["subresource"] = json!(r.subresource);
    record["dryrun"] = json!(r.dry_run);
    record["user"] = r.user_info["username"].clone();
    record["old_spec"] = r.old["spec"].clone();
    record["new_spec"] = r.new["spec"].clone();
    record["diff"] = diff(r.diff(), &["spec"]);
    let names = r.headers.keys().map(|name| name.to_lowercase());
    record["headers"] = sorted(names.filter(|name| name == "content-type" || name == "accept").collect());
}

/// A resource with its lists sorted.
fn resource(r: &Resource) -> Value {
    json!({
        "group": r.group, "version": r.version, "plural": r.plural, "kind": nullable(&r.kind),
        "singular": nullable(&r.singular), "shortcuts": sorted(r.shortcuts.clone()),
        "categories": sorted(r.categories.clone()), "subresources": sorted(r.subresources.clone()),
        "namespaced": r.namespaced, "preferred": r.preferred,
    })
}

fn sorted(mut names: Vec<String>) -> Value {
    names.sort();
    json!(names)
}

/// A difference below a path.
fn diff(diff: Vec<DiffItem>, below: &[&str]) -> Value {
    let within = |d: &DiffItem| d.path.len() >= below.len() && d.path.iter().zip(below).all(|(a, b)| a == b);
    let items = diff.into_iter().filter(within).map(|d| json!([d.op, d.path, d.old, d.new]));
    sorted_by_repr(items.collect())
}

/// Null for an empty text.
fn nullable(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { text.into() }
}
