//! Handlers for the whole operator.

use crate::call::Call;
use crate::error::Error;
use crate::handler::Argument;
use crate::object::deref;
use crate::task::Task;
use serde::Serialize;
use serde_json::Value;
use std::rc::Rc;

/// The argument of handlers for the whole operator: startup, cleanup, probe, login. It
/// dereferences to [`Call`]. Results count for probes and logins.
///
/// ```
/// # use kopf::Activity;
/// #[kopf::startup]
/// fn configure(a: Activity) {
///     a.settings.set("persistence.finalizer", "example.com/finalizer");
/// }
/// ```
pub struct Activity {
    /// What every handler gets.
    pub call: Call,
    /// `startup`, `cleanup`, `probe`, `authentication`.
    pub activity: String,
    /// The settings of the operator.
    pub settings: Settings,
    /// The names of the host's own credentials: of login handlers only.
    pub logins: Vec<String>,
}

deref!(Activity => call: Call);

impl Argument for Activity {
    fn make(task: &Rc<Task>) -> Result<Self, Error> {
        Ok(Activity {
            call: Call::new(task),
            activity: task.call.activity.clone(),
            settings: Settings { task: task.clone() },
            logins: task.call.logins.clone(),
        })
    }
}

/// The settings of the operator. Startup handlers may change them. What a guest may
/// set, and what its host decides, is told in the manual.
///
/// See <https://docs.kopf.dev/en/latest/configuration/>
#[derive(Clone)]
pub struct Settings {
    task: Rc<Task>,
}

impl Settings {
    /// The present value of a setting, by its dotted name; null if there is none.
    pub fn get(&self, name: &str) -> Value {
        if let Some(value) = self.task.left.settings.borrow().get(name) {
            return value.clone();
        }
        let Some(settings) = &self.task.call.settings else {
            return Value::Null;
        };
        if let Some(value) = settings.get(name) {
            return value.clone();
        }
        name.split('.').try_fold(settings, |value, part| value.get(part)).cloned().unwrap_or_default()
    }

    /// Changes a setting, by its dotted name. Times are in seconds.
    pub fn set(&self, name: &str, value: impl Serialize) {
        let value = serde_json::to_value(value).unwrap_or_default();
        self.task.left.settings.borrow_mut().insert(name.to_owned(), value);
    }
}
