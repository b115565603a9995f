//! Operations with effects on the object and on others.

use crate::call::{Argument, Call};
use crate::edits::edit;
use crate::hierarchies;
use crate::script::ValueError;
use crate::values::{list, sorted_by_repr, text};
use kopf::{Error, Level, Map, Part, Value, json};

/// The key of the one document that scripts use as the memo.
const MEMO: &str = "memo";

impl Call {
    /// An operation that does not wait.
    pub fn effect(&mut self, name: &str, arg: &Value) -> kopf::Result {
        match name {
            "mark" => self.mark(arg.clone(), json!({})),
            "log" => self.base.log.log(level(text(arg, "level")), text(arg, "msg")),
            "memo" => self.update_memo(|memo| memo.extend(arg.as_object().cloned().unwrap_or_default()))?,
            "memo_count" => {
                let key = arg.as_str().unwrap_or_default();
                self.update_memo(|memo| {
                    let count = memo.get(key).and_then(Value::as_u64).unwrap_or(0);
                    memo.insert(key.to_owned(), json!(count + 1));
                })?;
            }
            "admission_warning" => {
                if let Argument::Review(r) = &self.argument {
                    r.warn(arg.as_str().unwrap_or_default());
                }
            }
            "dump_index" => self.dump(arg),
            "hierarchy" => hierarchies::perform(self, arg)?,
            "event" | "info" | "warn" | "exception" => self.post(name, arg)?,
            _ => self.change(name, arg)?,
        }
        Ok(())
    }

    /// Prints a line that is not of an invocation.
    pub fn mark(&self, mark: Value, more: Value) {
        let name = self.object().map(|object| object.name);
        let mut record = json!({"mark": mark, "handler": self.base.id, "name": name});
        for (key, value) in more.as_object().into_iter().flatten() {
            record[key] = value.clone();
        }
        self.interpreter().emit(record);
    }

    pub fn memo_document(&self) -> Value {
        self.base.memo.get(MEMO).ok().flatten().unwrap_or_else(|| json!({}))
    }

    fn update_memo(&self, change: impl Fn(&mut Map<String, Value>)) -> kopf::Result {
        self.base.memo.update(MEMO, |old: Option<Map<String, Value>>| {
            let mut memo = old.unwrap_or_default();
            change(&mut memo);
            memo
        })?;
        Ok(())
    }

    /// Prints the contents of indices.
    fn dump(&self, names: &Value) {
        for name in list(names).iter().filter_map(Value::as_str) {
            let index = self.base.index(name);
            let mut content = json!({});
            for key in index.keys() {
                content[key.to_string()] = sorted_by_repr(index.get(&key));
            }
            self.interpreter().emit(json!({"index": name, "content": content}));
        }
    }

    fn post(&self, name: &str, arg: &Value) -> kopf::Result {
        let events = self.events().ok_or_else(|| misplaced(name))?;
        let (reason, message) = (text(arg, "reason"), text(arg, "message"));
        match name {
            "info" => events.info(reason, message)?,
            "warn" => events.warn(reason, message)?,
            "exception" => {
                let error = ValueError(arg["exc"].as_str().unwrap_or("boo").to_owned());
                events.exception(&error, reason, message)?;
            }
            _ => events.post(text(arg, "type"), reason, message)?,
        }
        Ok(())
    }

    /// Changes the object.
    fn change(&self, name: &str, arg: &Value) -> kopf::Result {
        if let Argument::Indexed(_) = self.argument {
            return Ok(()); // the reference does not apply it
        }
        let patch = self.patch().ok_or_else(|| misplaced(name))?;
        match name {
            "patch" => patch.merge(arg),
            "patch_meta" => patch.meta().merge(arg),
            "patch_status" => set_all(&patch.status(), arg),
            "patch_spec" => set_all(&patch.spec(), arg),
            "patch_annotations" => set_all(&patch.annotations(), arg),
            "patch_labels" => set_all(&patch.labels(), arg),
            "edit" => {
                let ops = list(arg).to_vec();
                patch.edit(move |body| {
                    ops.iter().for_each(|op| edit(body, op));
                    Ok(())
                });
            }
            _ => return Err(misplaced(name)),
        }
        Ok(())
    }
}

fn misplaced(name: &str) -> Error {
    Error::permanent(format_args!("unknown op, or not for this kind of handlers: {name}"))
}

fn level(name: &str) -> Level {
    match name {
        "debug" => Level::Debug,
        "warning" => Level::Warning,
        "error" | "exception" => Level::Error,
        "critical" => Level::Critical,
        _ => Level::Info,
    }
}

/// Sets values without merging them.
fn set_all(part: &Part, values: &Value) {
    for (key, value) in values.as_object().into_iter().flatten() {
        part.set(key, value);
    }
}
