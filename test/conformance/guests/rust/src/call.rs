//! One invocation of a handler of any kind: what the script needs of it.

use crate::cases::{Interpreter, Spec};
use crate::values::list;
use kopf::{Activity, Change, Daemon, Event, Events, Indexed, Object, Patch, Review, Timer, Value};
use std::rc::Rc;

/// The argument of the handler.
pub enum Argument {
    Change(Change),
    Event(Event),
    Timer(Timer),
    Daemon(Daemon),
    Indexed(Indexed),
    Review(Review),
    Activity(Activity),
}

/// An invocation.
pub struct Call {
    /// What handlers of all kinds have.
    pub base: kopf::Call,
    pub spec: Rc<Spec>,
    pub argument: Argument,
    /// Calls of this handler for this object before, in this process.
    pub calls: u64,
    /// What the script returns, when it has.
    pub returned: Option<Value>,
}

impl Call {
    pub fn new(spec: &Rc<Spec>, argument: Argument) -> Call {
        let base = match &argument {
            Argument::Change(c) => c.call(),
            Argument::Event(e) => e.call(),
            Argument::Timer(t) => t.call(),
            Argument::Daemon(d) => d.call(),
            Argument::Indexed(o) => o.call(),
            Argument::Review(r) => r.call(),
            Argument::Activity(a) => a.call(),
        };
        Call { base, spec: spec.clone(), argument, calls: 0, returned: None }
    }

    pub fn interpreter(&self) -> &Interpreter {
        &self.spec.interpreter
    }

    /// The object; `None` in activities.
    pub fn object(&self) -> Option<Object> {
        match &self.argument {
            Argument::Change(c) => Some(c.object()),
            Argument::Event(e) => Some(e.object()),
            Argument::Timer(t) => Some(t.object()),
            Argument::Daemon(d) => Some(d.object()),
            Argument::Indexed(o) => Some(o.object()),
            Argument::Review(r) => Some(r.object()),
            Argument::Activity(_) => None,
        }
    }

    /// Changes of the object, where there can be some.
    pub fn patch(&self) -> Option<&Patch> {
        match &self.argument {
            Argument::Change(c) => Some(&c.patch),
            Argument::Event(e) => Some(&e.patch),
            Argument::Timer(t) => Some(&t.patch),
            Argument::Daemon(d) => Some(&d.patch),
            Argument::Review(r) => Some(&r.patch),
            Argument::Indexed(_) | Argument::Activity(_) => None,
        }
    }

    /// Events about the object, where there can be some.
    pub fn events(&self) -> Option<&Events> {
        match &self.argument {
            Argument::Change(c) => Some(&c.events),
            Argument::Event(e) => Some(&e.events),
            Argument::Timer(t) => Some(&t.events),
            Argument::Daemon(d) => Some(&d.events),
            Argument::Indexed(_) | Argument::Review(_) | Argument::Activity(_) => None,
        }
    }

    /// Prints the line of the invocation, and runs the script.
    pub async fn handle(mut self) -> kopf::Result<Value> {
        let record = self.describe();
        self.count()?;
        if self.spec.given["silent"] != true {
            self.interpreter().emit(record);
        }
        let spec = self.spec.clone();
        self.run(list(&spec.given["do"])).await?;
        Ok(self.returned.unwrap_or_default())
    }

    /// Counts the calls of the handler for the object, if the script asks for it.
    fn count(&mut self) -> kopf::Result {
        if !asks_for_calls(list(&self.spec.given["do"])) {
            return Ok(());
        }
        let object = self.object().map(|o| format!(" {}/{}", o.namespace.as_deref().unwrap_or_default(), o.name));
        let key = format!("calls {}{}", self.base.id, object.unwrap_or_default());
        self.calls = self.base.operator_memo().update(&key, |old: Option<u64>| old.unwrap_or(0) + 1)? - 1;
        Ok(())
    }
}

/// Whether a script has the condition calls_lt.
fn asks_for_calls(script: &[Value]) -> bool {
    script.iter().any(|op| {
        !op["if"]["calls_lt"].is_null() || asks_for_calls(list(&op["do"])) || asks_for_calls(list(&op["else"]))
    })
}
