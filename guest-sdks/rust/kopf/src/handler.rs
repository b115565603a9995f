//! Handlers as values. The attributes make them of functions; code that knows its
//! handlers at run time only makes them here.

use crate::error::Error;
use crate::events::Events;
use crate::log::Level;
use crate::module::Running;
use crate::object::Spec;
use crate::selector::Selector;
use crate::task::{Returned, Task};
use crate::{Activity, Background, Change, Daemon, Event, Indexed, Review, Timer, Values};
use kopf_abi as abi;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A function of an option, for a value.
pub(crate) type Callback = Rc<dyn Fn(&Rc<Task>, &abi::Value) -> Result<Value, Error>>;

/// A handler: a function, and when it is called.
///
/// ```
/// # use kopf::{Change, Handler};
/// let handler = Handler::create("kopfexamples", async |c: Change| kopf::info!(c, "new: {}", c.name))
///     .id("create_fn")
///     .retries(3)
///     .label("app", "web");
/// ```
///
/// Options are named as in Kopf. SPEC.md of the ABI lists the options of
/// each kind of handlers; the host refuses others, naming the handler.
///
/// See <https://docs.kopf.dev/en/latest/handlers/>
#[derive(Clone)]
pub struct Handler {
    pub(crate) declaration: abi::Handler,
    pub(crate) run: Rc<dyn Fn(Rc<Task>) -> Running>,
    pub(crate) callbacks: BTreeMap<(&'static str, String), Callback>,
    pub(crate) problems: Vec<String>,
}

/// The argument of a handler. That of another kind does not compile:
///
/// ```compile_fail
/// #[kopf::create("kopfexamples")]
/// async fn create_fn(t: kopf::Timer) {}
/// ```
///
/// Nor does a function without an attribute as a handler:
///
/// ```compile_fail
/// async fn create_fn(c: kopf::Change) {}
/// kopf::operator!(create_fn);
/// ```
pub trait Argument: Sized + 'static {
    #[doc(hidden)]
    fn make(task: &Rc<Task>) -> Result<Self, Error>;
}

/// What handlers may return: nothing, or a [`Result`](crate::Result) with anything that
/// [`serde`] can write. The value is stored in the status of the object, under the id of
/// the handler; `()` and null are not.
///
/// Other types do not compile:
///
/// ```compile_fail
/// #[kopf::create("kopfexamples")]
/// async fn create_fn(c: kopf::Change) -> u32 {
///     5
/// }
/// ```
///
/// See <https://docs.kopf.dev/en/latest/results/>
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    note = "return nothing, or a `kopf::Result` of something that implements `serde::Serialize`"
)]
pub trait Outcome {
    #[doc(hidden)]
    fn returned(self) -> Returned;
}

impl Outcome for () {
    fn returned(self) -> Returned {
        Ok((None, false))
    }
}

impl<T: Serialize, E: Into<Error>> Outcome for Result<T, E> {
    fn returned(self) -> Returned {
        let value = serde_json::to_value(&self.map_err(Into::into)?)
            .map_err(|err| Error::permanent(err).about("the result"))?;
        Ok((Some(value).filter(|value| !value.is_null()), false))
    }
}

/// What admission handlers may return: nothing to allow, an error to refuse.
#[diagnostic::on_unimplemented(
    message = "an admission handler cannot return `{Self}`",
    note = "return nothing, or a `kopf::Result` of nothing"
)]
pub trait Verdict {
    #[doc(hidden)]
    fn returned(self) -> Returned;
}

impl Verdict for () {
    fn returned(self) -> Returned {
        Ok((None, false))
    }
}

impl<E: Into<Error>> Verdict for Result<(), E> {
    fn returned(self) -> Returned {
        self.map_err(Into::into)?;
        Ok((None, false))
    }
}

macro_rules! constructors {
    ($($(#[doc = $doc:literal])+ $name:ident($argument:ty) -> $outcome:ident, $kind:literal;)*) => {$(
        $(#[doc = $doc])+
        pub fn $name<S: Spec, R: $outcome + 'static>(
            resource: impl Into<Selector>,
            f: impl AsyncFn($argument) -> R + 'static,
        ) -> Handler {
            Handler::new($kind, Some(resource.into()), f, R::returned)
        }
    )*};
}

macro_rules! activities {
    ($($(#[doc = $doc:literal])+ $name:ident($argument:ty), $kind:literal;)*) => {$(
        $(#[doc = $doc])+
        pub fn $name<R: Outcome + 'static>(f: impl AsyncFn($argument) -> R + 'static) -> Handler {
            Handler::new($kind, None, f, R::returned)
        }
    )*};
}

impl Handler {
    pub(crate) fn new<A: Argument, R: 'static>(
        kind: &str,
        selector: Option<Selector>,
        f: impl AsyncFn(A) -> R + 'static,
        returned: fn(R) -> Returned,
    ) -> Handler {
        let f = Rc::new(f);
        let run = Rc::new(move |task: Rc<Task>| -> Running {
            let f = f.clone();
            Box::pin(async move {
                let result = match A::make(&task) {
                    Ok(argument) => returned(f(argument).await),
                    Err(err) => Err(unfit(&task, err)),
                };
                task.done(result)
            })
        });
        let mut handler =
            Handler { declaration: abi::Handler::new(), run, callbacks: BTreeMap::new(), problems: Vec::new() };
        handler.set("kind", kind.into());
        if let Some(selector) = selector {
            handler.set("resource", selector.wire().into());
            if let Some(select) = selector.select {
                handler.callback("resource", "", move |task, _| {
                    Ok(task.call.resource.as_ref().is_some_and(|resource| select(resource)).into())
                });
            }
        }
        handler
    }

    constructors! {
        /// Handles new objects.
        create(Change<S>) -> Outcome, "create";
        /// Handles objects that have been changed.
        update(Change<S>) -> Outcome, "update";
        /// Handles objects that are being deleted. The object stays until the handler has
        /// succeeded or failed for good, see [`optional`](Handler::optional).
        delete(Change<S>) -> Outcome, "delete";
        /// Handles objects that exist when the operator starts, once each.
        resume(Change<S>) -> Outcome, "resume";
        /// Handles one field, which is given with the option [`field`](Handler::field):
        /// when it appears, changes, or disappears.
        on_field(Change<S>) -> Outcome, "field";
        /// Handles all events of objects as they come: nothing is kept about them, and
        /// errors are logged and ignored.
        event(Event<S>) -> Outcome, "event";
        /// Is called again and again while an object exists, see
        /// [`interval`](Handler::interval) and [`idle`](Handler::idle).
        timer(Timer<S>) -> Outcome, "timer";
        /// Runs as long as an object exists.
        daemon(Daemon<S>) -> Outcome, "daemon";
        /// Makes the values of an index of objects. Handlers look into it by the id, see
        /// [`Call::index`](crate::Call::index).
        index(Indexed<S>) -> Values, "index";
        /// Allows or refuses changes of objects.
        validate(Review<S>) -> Verdict, "validate";
        /// Changes objects before they are stored, with its patch.
        mutate(Review<S>) -> Verdict, "mutate";
    }

    activities! {
        /// Is called before everything else. If it fails, the operator does not start.
        startup(Activity), "startup";
        /// Is called after everything else.
        cleanup(Activity), "cleanup";
        /// Its result is shown by the liveness endpoint, under its id.
        probe(Activity), "probe";
        /// Its result is a [`ConnectionInfo`](crate::ConnectionInfo) for the cluster.
        login(Activity), "login";
        /// Work that belongs to no object: it runs from after the startup handlers until
        /// before the cleanup handlers.
        background(Background), "background";
    }

    /// A sub-handler, for [`Change::execute`] and [`Change::declare`]. Its full id is that
    /// of the parent, a slash, and its own.
    ///
    /// See <https://docs.kopf.dev/en/latest/handlers/#sub-handlers>
    pub fn sub<S: Spec, R: Outcome + 'static>(
        id: impl Into<String>,
        f: impl AsyncFn(Change<S>) -> R + 'static,
    ) -> Handler {
        Handler::new("sub", None, f, R::returned).id(id)
    }

    pub(crate) fn callback(
        &mut self,
        option: &'static str,
        key: &str,
        f: impl Fn(&Rc<Task>, &abi::Value) -> Result<Value, Error> + 'static,
    ) {
        self.callbacks.insert((option, key.to_owned()), Rc::new(f));
    }

    /// What is wrong with the handler; `None` if nothing is.
    pub(crate) fn problem(&self) -> Option<String> {
        let said = |option| self.declaration.get(option).and_then(Value::as_str).unwrap_or_default();
        let (kind, id) = (said("kind"), said("id"));
        let problem = match self.problems.first() {
            Some(problem) => problem.as_str(),
            None if id.is_empty() => "it needs an id: it has no function with a name",
            None => return None,
        };
        Some(format!("{}: {problem}", format!("{kind} {id}").trim()))
    }

    /// Evaluates functions of the handler, up to the first that is not true.
    pub(crate) fn judge(&self, task: &Rc<Task>, callbacks: &[abi::Callback]) -> Result<Value, Error> {
        let mut verdict = Value::Bool(true);
        for callback in callbacks {
            let found =
                self.callbacks.iter().find(|((option, key), _)| *option == callback.option && *key == callback.key);
            let Some((_, function)) = found else {
                return Err(crate::Error::permanent(format_args!("no such callback: {}", callback.option)));
            };
            verdict = evaluate(task, function, &callback.values)?;
            if verdict != true {
                break;
            }
        }
        Ok(verdict)
    }
}

/// Calls a function for each value until one holds.
fn evaluate(task: &Rc<Task>, function: &Callback, values: &[abi::Value]) -> Result<Value, Error> {
    let nothing = [abi::Value { value: None, absent: true }];
    let mut verdict = Value::Bool(false);
    for value in if values.is_empty() { &nothing } else { values } {
        verdict = function(task, value)?;
        if verdict != false {
            break;
        }
    }
    Ok(verdict)
}

/// An object does not fit into the argument of the handler: it gets an event about that, unless it is under review. Then
/// the user gets the error, and the request may be a dry run.
fn unfit(task: &Rc<Task>, err: Error) -> Error {
    if task.body.borrow().is_some() && !matches!(task.call.kind.as_str(), "validate" | "mutate") {
        let events = Events::of(task);
        if let Err(errno) = events.post("Error", "DecodeError", &err.to_string()) {
            events.task.host.log(task.id, Level::Debug as u32, &format!("no event about this: {errno}"));
        }
    }
    err
}

/// The order of several handlers of one cause.
///
/// See <https://docs.kopf.dev/en/latest/configuration/>
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lifecycle {
    /// One after another, those with fewest retries first.
    #[default]
    AsSoonAsPossible,
    /// One after another, in order.
    OneByOne,
    /// All in one cycle.
    AllAtOnce,
    /// One of them, by chance.
    Randomized,
    /// All in one cycle, in random order.
    Shuffled,
}

impl Lifecycle {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Lifecycle::AsSoonAsPossible => "asap",
            Lifecycle::OneByOne => "one_by_one",
            Lifecycle::AllAtOnce => "all_at_once",
            Lifecycle::Randomized => "randomized",
            Lifecycle::Shuffled => "shuffled",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Module;
    use crate::operator::Operator;
    use crate::testing::host::TestHost;
    use kopf_abi::tag;

    #[test]
    fn objects_that_do_not_fit_get_events_unless_they_are_reviewed() {
        let cases = [
            ("create", Handler::create("x", async |_: Change<u32>| ()), 1),
            ("validate", Handler::validate("x", async |_: Review<u32>| ()), 0),
            ("mutate", Handler::mutate("x", async |_: Review<u32>| ()), 0),
        ];
        for (kind, handler, events) in cases {
            let host = Rc::new(TestHost::default());
            let mut operator = Operator::new();
            operator.add(handler.id("x"));
            let mut frame = Vec::new();
            let header = format!(r#"{{"handler":0,"id":"x","kind":"{kind}"}}"#);
            abi::push_segment(&mut frame, tag::HEADER, header.as_bytes());
            abi::push_segment(&mut frame, tag::BODY, br#"{"spec":{"size":"large"}}"#);
            let step = Module::new(operator, host.clone()).start(1, frame);
            assert!(String::from_utf8_lossy(&step).contains("spec: invalid type: map, expected u32"), "{kind}");
            assert_eq!(host.state.borrow().events.len(), events, "{kind}");
        }
    }
}
