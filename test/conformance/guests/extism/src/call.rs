//! One invocation of a handler of any kind.

use crate::functions::{self, OPERATOR};
use crate::state::{self, Task};
use crate::storages;
use crate::values::{list, text};
use serde_json::{Value, json};
use std::rc::Rc;

/// An invocation, and its outcome so far.
pub struct Call<'a> {
    pub message: &'a Value,
    pub function: &'a Value,
    /// Calls of this handler for this object before, in this process.
    pub calls: u64,
    /// What the script returns, when it has.
    pub returned: Option<Value>,
    pub patch: Value,
    pub warnings: Vec<Value>,
    pub settings: Value,
    pub left: Task,
}

impl<'a> Call<'a> {
    pub fn new(message: &'a Value, function: &'a Rc<Value>) -> Call<'a> {
        Call {
            message,
            function,
            calls: 0,
            returned: None,
            patch: json!({}),
            warnings: Vec::new(),
            settings: json!({}),
            left: Task::default(),
        }
    }

    pub fn spec(&self) -> &Value {
        &self.message["body"]["spec"]
    }

    pub fn id(&self) -> &str {
        text(self.message, "id")
    }

    /// Prints the line of the invocation, runs the script, and makes the step.
    pub fn handle(mut self) -> Value {
        let record = self.describe();
        self.count();
        if self.function["silent"] != true {
            emit(record);
        }
        let case = state::case();
        if text(self.function, "name") == "__configure__" {
            self.configure(&case.spec["settings"]);
        }
        let failed = self.run(list(&self.function["do"])).err();
        self.step(failed)
    }

    fn step(self, failed: Option<Value>) -> Value {
        let mut step =
            json!({"step": "done", "patch": self.patch, "warnings": self.warnings, "settings": self.settings});
        match failed {
            Some(error) => step["error"] = error,
            None => self.conclude(&mut step),
        }
        step["transforms"] = json!(self.left.edits.len());
        state::keep(&self.message["task"], self.left);
        step
    }

    /// What only a success has: its result, and sub-handlers that are called next.
    fn conclude(&self, step: &mut Value) {
        step["children"] = self.left.children.iter().map(|child| crate::register::sub(child)).collect();
        let returned = self.returned.clone().unwrap_or_default();
        match (text(self.message, "kind"), returned) {
            // Indices make keys of maps, as the reference does; other values have the key null.
            ("index", Value::Object(map)) => {
                step["keyed"] = json!(true);
                step["result"] = map.into_iter().map(|(key, value)| json!([key, value])).collect();
            }
            ("index", value) if !value.is_null() => {
                step["keyed"] = json!(true);
                step["result"] = json!([[null, value]]);
            }
            (_, value) => step["result"] = value,
        }
    }

    /// Sets settings, by their dotted names.
    pub fn configure(&mut self, values: &Value) {
        for (name, value) in values.as_object().into_iter().flatten() {
            if let Some(value) = storages::setting(name, value) {
                self.settings[name] = value;
            }
        }
    }

    /// Counts the calls of the handler for the object, if the script asks for it.
    fn count(&mut self) {
        if !asks_for_calls(list(&self.function["do"])) {
            return;
        }
        let key = format!("calls {} {}/{}", self.id(), text(self.message, "namespace"), text(self.message, "name"));
        self.calls = functions::memo(OPERATOR, &key).as_u64().unwrap_or(0);
        functions::remember(OPERATOR, &key, &json!(self.calls + 1));
    }
}

/// Prints a line.
pub fn emit(mut record: Value) {
    if let Some(operator) = &state::case().operator {
        record["operator"] = json!(operator);
    }
    functions::print(&record);
}

/// Whether a script has the condition calls_lt.
fn asks_for_calls(script: &[Value]) -> bool {
    script.iter().any(|op| {
        !op["if"]["calls_lt"].is_null() || asks_for_calls(list(&op["do"])) || asks_for_calls(list(&op["else"]))
    })
}
