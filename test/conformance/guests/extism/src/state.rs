//! What an instance keeps: the handlers of the case, and of tasks that live on their
//! sub-handlers and functions.

use crate::register;
use extism_pdk::Error;
use serde_json::Value;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

thread_local! {
    static CASE: OnceCell<Rc<Case>> = const { OnceCell::new() };
    static TASKS: RefCell<HashMap<u64, Task>> = RefCell::default();
}

/// The operator of the case.
pub struct Case {
    /// In the printed lines; `None` for the main one.
    pub operator: Option<String>,
    pub spec: Value,
    /// In the order of the registration: the handler, and the decorator.
    pub handlers: Vec<(Rc<Value>, Value)>,
}

/// What a done task has left.
#[derive(Default)]
pub struct Task {
    /// In the order of the step: handlers, and their options.
    pub children: Vec<Rc<Value>>,
    pub edits: Vec<Value>,
}

/// The case; read when it is asked for at first.
pub fn case() -> Rc<Case> {
    CASE.with(|case| case.get_or_init(|| Rc::new(register::case())).clone())
}

/// What runs as the handler that a message is for.
pub fn handler(message: &Value) -> Result<Rc<Value>, Error> {
    Ok(found(message)?.0)
}

/// The options of the handler that a message or a question is about.
pub fn options(message: &Value) -> Result<Value, Error> {
    Ok(found(message)?.1)
}

fn found(message: &Value) -> Result<(Rc<Value>, Value), Error> {
    let position = message["handler"].as_u64().unwrap_or(u64::MAX) as usize;
    match message["parent"].as_u64() {
        None | Some(0) => case().handlers.get(position).cloned(),
        Some(parent) => TASKS.with_borrow(|tasks| {
            let child = tasks.get(&parent)?.children.get(position)?.clone();
            let options = (*child).clone();
            Some((child, options))
        }),
    }
    .ok_or_else(|| Error::msg("no such handler"))
}

/// Keeps what a task has left.
pub fn keep(task: &Value, left: Task) {
    if let Some(id) = task.as_u64().filter(|_| !left.children.is_empty() || !left.edits.is_empty()) {
        TASKS.with_borrow_mut(|tasks| tasks.insert(id, left));
    }
}

/// The edits that a task has left.
pub fn edits(task: &Value) -> Vec<Value> {
    let id = task.as_u64().unwrap_or_default();
    TASKS.with_borrow(|tasks| tasks.get(&id).map(|left| left.edits.clone()).unwrap_or_default())
}

/// Forgets a task.
pub fn release(task: &Value) {
    TASKS.with_borrow_mut(|tasks| tasks.remove(&task.as_u64().unwrap_or_default()));
}
