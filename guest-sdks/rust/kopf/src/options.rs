//! Options of handlers.

use crate::filters::{Cause, Filter, function};
use crate::handler::Handler;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// What an error means that is neither temporary nor permanent. By default, events and
/// indices have `Ignored`, all others have `Temporary`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorsMode {
    /// The handler is called again after its backoff.
    Temporary,
    /// The handler fails.
    Permanent,
    /// The handler counts as done.
    Ignored,
}

/// A time in options: a number of seconds, or a [`Duration`].
pub trait Seconds {
    /// The time in seconds.
    fn seconds(self) -> f64;
}

impl Seconds for Duration {
    fn seconds(self) -> f64 {
        self.as_secs_f64()
    }
}

macro_rules! seconds {
    ($($number:ty),*) => {$(
        impl Seconds for $number {
            fn seconds(self) -> f64 {
                f64::from(self)
            }
        }
    )*};
}

seconds!(i32, u32, f64);

/// The path of a field: a text with dots, or its keys one by one, for keys that have dots.
pub trait FieldPath {
    /// The keys.
    fn keys(self) -> Vec<String>;
}

impl FieldPath for &str {
    fn keys(self) -> Vec<String> {
        self.split('.').map(str::to_owned).collect()
    }
}

impl<const N: usize> FieldPath for [&str; N] {
    fn keys(self) -> Vec<String> {
        self.map(str::to_owned).to_vec()
    }
}

impl FieldPath for Vec<String> {
    fn keys(self) -> Vec<String> {
        self
    }
}

macro_rules! times {
    ($($(#[doc = $doc:literal])+ $name:ident;)*) => {$(
        $(#[doc = $doc])+
        pub fn $name(mut self, time: impl Seconds) -> Handler {
            self.set(stringify!($name), time.seconds().into());
            self
        }
    )*};
}

macro_rules! flags {
    ($($(#[doc = $doc:literal])+ $name:ident;)*) => {$(
        $(#[doc = $doc])+
        pub fn $name(mut self, yes: bool) -> Handler {
            self.set(stringify!($name), yes.into());
            self
        }
    )*};
}

impl Handler {
    /// The id of the handler: in logs, in results, and in the progress that is kept on
    /// the object. By default it is the name of the function. Handlers with the ids
    /// they had in Python take over their progress.
    pub fn id(mut self, id: impl Into<String>) -> Handler {
        self.set("id", id.into().into());
        self
    }

    /// Says that handlers with equal identities are of one function: of those with equal
    /// ids, one is called per cause. Attributes give the path of the function.
    pub fn identity(mut self, function: impl Into<String>) -> Handler {
        self.set("fn", function.into().into());
        self
    }

    /// A value that is passed back to the handler as [`Call::param`](crate::Call::param).
    /// It distinguishes several registrations of one function.
    pub fn param(mut self, param: impl Serialize) -> Handler {
        self.encode("param", param);
        self
    }

    /// What an error means that is neither temporary nor permanent.
    pub fn errors(mut self, mode: ErrorsMode) -> Handler {
        let mode = match mode {
            ErrorsMode::Temporary => "TEMPORARY",
            ErrorsMode::Permanent => "PERMANENT",
            ErrorsMode::Ignored => "IGNORED",
        };
        self.set("errors", mode.into());
        self
    }

    /// The number of attempts, the first one included, after which the handler fails. No
    /// limit by default.
    pub fn retries(mut self, retries: u32) -> Handler {
        self.set("retries", retries.into());
        self
    }

    times! {
        /// The time since the first attempt after which the handler fails. It is looked at
        /// between attempts: no attempt is interrupted. None by default.
        timeout;
        /// The time until the next attempt after an error that is not temporary: 60 seconds
        /// by default.
        backoff;
        /// The time between two calls of a timer.
        interval;
        /// The time without changes of the object before a timer is called.
        idle;
        /// The time between telling a daemon to stop and cancelling it.
        cancellation_backoff;
        /// The time after which a cancelled daemon is abandoned.
        cancellation_timeout;
        /// The time between two looks at a daemon that has no timeout.
        cancellation_polling;
    }

    flags! {
        /// An optional deletion handler puts no finalizer on the object, so it may miss the
        /// deletion.
        optional;
        /// Resumes also objects that are being deleted.
        deleted;
        /// Counts the interval of a timer from the beginning of a call, not from its end.
        sharp;
        /// Leaves the webhook of an admission handler behind when the operator ends.
        persistent;
        /// Says that an admission handler has effects in addition to its answer.
        side_effects;
        /// Lets requests through when an admission handler cannot be reached.
        ignore_failures;
    }

    /// The time before the first call of a timer or a daemon: see also
    /// [`initial_delay_fn`](Handler::initial_delay_fn).
    pub fn initial_delay(mut self, time: impl Seconds) -> Handler {
        self.set("initial_delay", time.seconds().into());
        self
    }

    /// The time before the first call of a timer or a daemon, by the object.
    pub fn initial_delay_fn<T: Seconds>(mut self, delay: impl Fn(&Cause) -> T + 'static) -> Handler {
        self.set("initial_delay", function());
        self.callback("initial_delay", "", move |task, value| Ok(delay(&Cause::new(task, value)?).seconds().into()));
        self
    }

    /// The operation that an admission handler reviews; all by default.
    pub fn operation(self, operation: &str) -> Handler {
        self.operations([operation])
    }

    /// The operations that an admission handler reviews: `CREATE`, `UPDATE`, `DELETE`, `CONNECT`.
    pub fn operations<'a>(mut self, operations: impl IntoIterator<Item = &'a str>) -> Handler {
        self.set("operations", operations.into_iter().collect());
        self
    }

    /// The subresource that an admission handler reviews, or `*` for all.
    pub fn subresource(mut self, name: &str) -> Handler {
        self.set("subresource", name.into());
        self
    }

    /// The field that the handler is about.
    pub fn field(mut self, path: impl FieldPath) -> Handler {
        self.set("field", path.keys().into());
        self
    }

    /// Filters by the value of a label.
    ///
    /// See <https://docs.kopf.dev/en/latest/filters/>
    pub fn label(mut self, name: &str, filter: impl Into<Filter>) -> Handler {
        self.filter("labels", name, filter.into());
        self
    }

    /// Filters by the value of an annotation.
    pub fn annotation(mut self, name: &str, filter: impl Into<Filter>) -> Handler {
        self.filter("annotations", name, filter.into());
        self
    }

    /// Filters by the value of the field. In updates, either the old or the new value
    /// has to match.
    pub fn value(mut self, filter: impl Into<Filter>) -> Handler {
        self.filter("value", "", filter.into());
        self
    }

    /// Filters by the value of the field before the change.
    pub fn old(mut self, filter: impl Into<Filter>) -> Handler {
        self.filter("old", "", filter.into());
        self
    }

    /// Filters by the value of the field after the change.
    pub fn new_value(mut self, filter: impl Into<Filter>) -> Handler {
        self.filter("new", "", filter.into());
        self
    }

    /// Filters by everything that is known, with a function.
    pub fn when(mut self, filter: impl Into<Filter>) -> Handler {
        let filter = filter.into();
        if !filter.is_function() {
            self.problems.push("when: a filter by everything is a function".to_owned());
        }
        self.filter("when", "", filter);
        self
    }

    /// Declares a filter. Functions stay here.
    fn filter(&mut self, option: &'static str, key: &str, filter: Filter) {
        let declared = match filter.wire() {
            // Null alone is no filter. For labels it stays alone: the host refuses it.
            Value::Null if key.is_empty() => json!({"$": "VALUE", "value": null}),
            declared => declared,
        };
        if key.is_empty() {
            self.set(option, declared);
        } else if let Value::Object(filters) = self.declaration.entry(option).or_insert_with(|| Map::new().into()) {
            filters.insert(key.to_owned(), declared);
        }
        if filter.is_function() {
            self.callback(option, key, move |task, value| Ok(filter.holds(&Cause::new(task, value)?).into()));
        }
    }

    fn encode(&mut self, option: &str, value: impl Serialize) {
        match serde_json::to_value(value) {
            Ok(value) => self.set(option, value),
            Err(err) => self.problems.push(format!("{option}: {err}")),
        }
    }

    pub(crate) fn set(&mut self, option: &str, value: Value) {
        self.declaration.insert(option.to_owned(), value);
    }
}
