//! Kubernetes events.

use crate::error::name_of;
use crate::log::Level;
use crate::task::Task;
use kopf_abi as abi;
use serde::Serialize;
use serde_json::Value;
use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

/// Posts Kubernetes events about the handled object. They are posted in the background;
/// what is over the host's limits is dropped and counted.
///
/// ```
/// # use kopf::Change;
/// async fn create_fn(c: Change) -> kopf::Result {
///     c.events.info("Created", "all is well")?;
///     Ok(())
/// }
/// ```
///
/// Errors of the methods say that an event could not be posted: it is too large, or the
/// operator has no right to post it.
///
/// See <https://docs.kopf.dev/en/latest/events/>
#[derive(Clone)]
pub struct Events {
    pub(crate) task: Rc<Task>,
    pub(crate) about: Option<Value>,
    pub(crate) backoffs: Option<Value>,
}

impl Events {
    /// The same for another object, which needs `apiVersion`, `kind` and `metadata`. Events about a value
    /// that has no form in JSON are [not valid](abi::Errno::INVALID).
    pub fn about(&self, object: impl Serialize) -> Events {
        Events { about: Some(serde_json::to_value(object).unwrap_or_default()), ..self.clone() }
    }

    /// The same with other pauses between the attempts to post than those of the setting
    /// `posting.default_backoffs`; none of them is one attempt.
    pub fn backoffs(&self, pauses: impl IntoIterator<Item = Duration>) -> Events {
        let list = pauses.into_iter().map(|pause| pause.as_secs_f64().into()).collect();
        Events { backoffs: Some(Value::Array(list)), ..self.clone() }
    }

    /// Those about the handled object.
    pub(crate) fn of(task: &Rc<Task>) -> Events {
        Events { task: task.clone(), about: None, backoffs: None }
    }

    /// Posts an event of the type Normal.
    pub fn info(&self, reason: &str, message: &str) -> Result<(), abi::Errno> {
        self.send(Level::Info as u32, "Normal", reason, message)
    }

    /// Posts an event of the type Warning.
    pub fn warn(&self, reason: &str, message: &str) -> Result<(), abi::Errno> {
        self.send(Level::Warning as u32, "Warning", reason, message)
    }

    /// Posts an error as an event of the type Error: the message, if there is one,
    /// and the error after it. An empty reason stands for the type of the error.
    pub fn exception<E: Error + ?Sized>(&self, err: &E, reason: &str, message: &str) -> Result<(), abi::Errno> {
        let name = if reason.is_empty() { name_of(err) } else { reason.to_owned() };
        let text = if message.is_empty() { err.to_string() } else { format!("{message} {err}") };
        self.send(Level::Error as u32, "Error", &name, &text)
    }

    /// Posts an event of any type, whatever the level of posting is.
    pub fn post(&self, event_type: &str, reason: &str, message: &str) -> Result<(), abi::Errno> {
        self.send(0, event_type, reason, message)
    }

    fn send(&self, level: u32, event_type: &str, reason: &str, message: &str) -> Result<(), abi::Errno> {
        if self.about == Some(Value::Null) {
            return Err(abi::Errno::INVALID); // the host would take it for the handled object
        }
        let event = abi::Event {
            level,
            event_type: event_type.to_owned(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            object: self.about.clone(),
            backoffs: self.backoffs.clone(),
        };
        self.task.host.event(self.task.id, &abi::write(event))
    }
}
