//! Handlers for the whole operator.

use crate::context::{arguments, context, sleep};
use crate::error::Error;
use crate::task::Task;
use serde::Serialize;
use serde_json::Value;
use std::rc::Rc;

context! {
    /// The argument of handlers for the whole operator: startup, cleanup, probe, login. Results count for probes and logins.
    ///
    /// ```
    /// # use kopf::Activity;
    /// #[kopf::startup]
    /// fn configure(a: Activity) {
    ///     a.settings.set("persistence.finalizer", "example.com/finalizer");
    /// }
    /// ```
    pub struct Activity(task) {
        /// `startup`, `cleanup`, `probe`, `authentication`.
        pub activity: String = task.call.activity.clone(),
        /// The settings of the operator.
        pub settings: Settings = Settings { task: task.clone() },
        /// The names of the host's own credentials: of login handlers only.
        pub logins: Vec<String> = task.call.logins.clone(),
    }
}

arguments!(Activity);

impl Activity {
    sleep!();
}

/// The settings of the operator. Startup handlers may change them. The manual lists
/// what a guest may set, and what its host decides.
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

    /// Changes a setting, by its dotted name. Times are in seconds. A value that has no form in JSON
    /// makes the handler fail.
    pub fn set(&self, name: &str, value: impl Serialize) {
        match serde_json::to_value(value) {
            Ok(value) => drop(self.task.left.settings.borrow_mut().insert(name.to_owned(), value)),
            Err(err) => self.task.left.patch.fail(Error::permanent(err).about(&format!("setting {name}"))),
        }
    }
}
