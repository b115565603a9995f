//! What is known of a case.

use kopf::{Value, json};
use std::rc::Rc;

/// Runs the handlers of one operator.
pub struct Interpreter {
    /// In the printed lines; `None` for the main one.
    pub operator: Option<String>,
    pub settings: Value,
}

impl Interpreter {
    /// Prints a line.
    pub fn emit(&self, mut record: Value) {
        if let Some(operator) = &self.operator {
            record["operator"] = json!(operator);
        }
        kopf::println!("{record}");
    }
}

/// One function: how it is registered, and what it does.
pub struct Spec {
    pub interpreter: Rc<Interpreter>,
    pub name: String,
    /// All that the case says; of sub-handlers, the options too.
    pub given: Value,
}

impl Spec {
    pub fn new(interpreter: &Rc<Interpreter>, given: &Value) -> Spec {
        let name = given["name"].as_str().unwrap_or("fn").to_owned();
        Spec { interpreter: interpreter.clone(), name, given: given.clone() }
    }
}
