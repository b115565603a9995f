//! What a handler is called with.

use super::driver::Driver;
use super::host::TestHost;
use super::requests::{Reply, Requested};
use super::{Outcome, diff};
use crate::conversion::{Conversion, Converted};
use crate::error::Error;
use crate::filters::Cause;
use crate::handler::{self, Argument, Handler};
use crate::index::Values;
use crate::task::Task;
use crate::view::View;
use kopf_abi as abi;
use kopf_abi::tag;
use serde::Serialize;
use serde_json::{Value, json};
use std::rc::Rc;
use std::time::Duration;

/// What a handler is called with: by default, the first attempt of the creation of an object.
#[derive(Clone)]
pub struct Fixture {
    call: CallParts,
    body: Option<Value>,
    old: Value,
    new: Option<Value>,
    raw: Option<Value>,
    host: Rc<TestHost>,
}

/// The parts of an invocation that tests say.
#[derive(Clone, Default)]
struct CallParts {
    id: Option<String>,
    param: Value,
    retry: u32,
    started: String,
    runtime: Duration,
    reason: Option<String>,
    field: Vec<String>,
    event_type: Option<String>,
    activity: String,
    settings: Value,
    admission: abi::Admission,
    conversion: Option<abi::Conversion>,
    logins: Vec<String>,
}

impl Fixture {
    /// A call for an object: a JSON value, or anything that [`serde`] can write.
    ///
    /// # Panics
    ///
    /// Something cannot be written as JSON. This is so in all methods.
    pub fn new(body: impl Serialize) -> Fixture {
        Fixture { body: Some(encode(body)), ..Fixture::bare() }
    }

    /// A call of a handler for the whole operator: `startup`, `cleanup`, `probe`, `authentication`.
    pub fn activity(activity: &str) -> Fixture {
        let mut fixture = Fixture::bare();
        fixture.call.activity = activity.to_owned();
        fixture
    }

    fn bare() -> Fixture {
        Fixture { call: CallParts::default(), body: None, old: Value::Null, new: None, raw: None, host: Rc::default() }
    }

    /// The id of the handler: `test` by default.
    pub fn id(mut self, id: &str) -> Fixture {
        self.call.id = Some(id.to_owned());
        self
    }

    /// The param of the registration.
    pub fn param(mut self, param: impl Serialize) -> Fixture {
        self.call.param = encode(param);
        self
    }

    /// The number of attempts before.
    pub fn retry(mut self, retry: u32) -> Fixture {
        self.call.retry = retry;
        self
    }

    /// The time of the first attempt, in RFC 3339.
    pub fn started(mut self, started: &str) -> Fixture {
        self.call.started = started.to_owned();
        self
    }

    /// The time since the first attempt.
    pub fn runtime(mut self, runtime: Duration) -> Fixture {
        self.call.runtime = runtime;
        self
    }

    /// What happened: by default `update` with an old state, else `create`.
    pub fn reason(mut self, reason: &str) -> Fixture {
        self.call.reason = Some(reason.to_owned());
        self
    }

    /// The whole last handled state.
    pub fn old(mut self, old: impl Serialize) -> Fixture {
        self.old = encode(old);
        self
    }

    /// The whole current state; by default, what matters of the body.
    pub fn new_value(mut self, new: impl Serialize) -> Fixture {
        self.new = Some(encode(new));
        self
    }

    /// The handler gets this part of the old and the new state.
    pub fn field(mut self, path: impl crate::FieldPath) -> Fixture {
        self.call.field = path.keys();
        self
    }

    /// The type of an event, and the whole event.
    pub fn event(mut self, event_type: &str) -> Fixture {
        self.call.event_type = Some(event_type.to_owned());
        self.raw = Some(json!({"type": event_type, "object": self.body}));
        self
    }

    /// The review of an admission handler: `operation`, `subresource`, `dryrun`, `userinfo`, `headers`.
    pub fn admission(mut self, review: impl Serialize) -> Fixture {
        self.call.admission = abi::read(encode(review).to_string().as_bytes()).expect("it is JSON");
        self
    }

    /// The step of a conversion.
    pub fn conversion(mut self, from: &str, to: &str) -> Fixture {
        self.call.conversion = Some(abi::Conversion { from: from.to_owned(), to: to.to_owned() });
        self
    }

    /// The settings before an activity.
    pub fn settings(mut self, settings: impl Serialize) -> Fixture {
        self.call.settings = encode(settings);
        self
    }

    /// The names of the host's own credentials.
    pub fn logins(mut self, logins: &[&str]) -> Fixture {
        self.call.logins = logins.iter().map(|login| (*login).to_owned()).collect();
        self
    }

    /// A value of the configuration, for [`config`](crate::config).
    pub fn config(self, key: &str, value: &str) -> Fixture {
        self.host.state.borrow_mut().config.insert(key.to_owned(), value.to_owned());
        self
    }

    /// A value of the memo of the object.
    pub fn memo(self, key: &str, value: impl Serialize) -> Fixture {
        self.host.set_memo(abi::scope::OBJECT, key, encode(value));
        self
    }

    /// A value of the memo of the operator.
    pub fn operator_memo(self, key: &str, value: impl Serialize) -> Fixture {
        self.host.set_memo(abi::scope::OPERATOR, key, encode(value));
        self
    }

    /// A key and a value of an index.
    pub fn index(self, name: &str, key: impl Serialize, value: impl Serialize) -> Fixture {
        let pair = (encode(key), encode(value));
        self.host.state.borrow_mut().indices.entry(name.to_owned()).or_default().push(pair);
        self
    }

    /// An object of the cluster in memory by its path, as in `/api/v1/namespaces/default/pods/x`.
    pub fn object(self, path: &str, object: impl Serialize) -> Fixture {
        self.host.state.borrow_mut().cluster.store(path, encode(object));
        self
    }

    /// Answers requests; those that it has no answer for are left to the cluster in memory.
    pub fn respond(self, responder: impl Fn(&Requested) -> Option<Reply> + 'static) -> Fixture {
        self.host.state.borrow_mut().responder = Some(Rc::new(responder));
        self
    }

    /// An object that handlers have left in the cluster in memory, by its path; null if there is none.
    pub fn object_at(&self, path: &str) -> Value {
        self.host.state.borrow().cluster.object(path)
    }

    /// Asks a daemon to stop after this number of waits.
    pub fn stop_after(self, waits: usize) -> Fixture {
        self.host.state.borrow_mut().stop_after = Some(waits);
        self
    }

    /// A value that handlers have left in the memo of the object; null if there is none.
    pub fn memo_value(&self, key: &str) -> Value {
        self.host.memo(abi::scope::OBJECT, key)
    }

    /// Calls a handler of any kind, but for those of indices. One that is not async is called as
    /// `run(async |c| handler(c))`.
    pub fn run<A: Argument, R: handler::Outcome + 'static>(&self, f: impl AsyncFn(A) -> R + 'static) -> Outcome {
        self.drive(Handler::new("test", None, f, R::returned))
    }

    /// Calls a handler of an index. The result of [`Keyed`](crate::Keyed) is a list of pairs.
    pub fn run_index<A: Argument, R: Values + 'static>(&self, f: impl AsyncFn(A) -> R + 'static) -> Outcome {
        self.drive(Handler::new("test", None, f, R::returned))
    }

    /// Calls a handler of conversions. See also [`convert`](super::convert), which does as a host does.
    pub fn run_convert<R: Converted + 'static>(&self, f: impl AsyncFn(Conversion) -> R + 'static) -> Outcome {
        self.drive(Handler::new("test", None, f, R::returned))
    }

    /// What a filter gets: with the value of the label, the annotation or the field; `None` if
    /// there is none.
    ///
    /// Errors: none here, as the spec has no type.
    pub fn cause(&self, value: Option<Value>) -> Result<Cause, Error> {
        self.prepare();
        let task = Task::new(1, self.invocation(), self.body.clone().map(View::from), self.host.clone(), None);
        let absent = value.is_none();
        Cause::new(&task, &abi::Value { value, absent })
    }

    fn drive(&self, handler: Handler) -> Outcome {
        self.prepare();
        let body = self.body.as_ref().map(Value::to_string);
        let mut outcome = Driver::new(handler, self.host.clone(), || self.invocation(), body).run();
        let mut state = self.host.state.borrow_mut();
        outcome.logs = std::mem::take(&mut state.logs);
        outcome.events = std::mem::take(&mut state.events);
        outcome.waits = std::mem::take(&mut state.waits);
        outcome.requests = std::mem::take(&mut state.requests);
        outcome
    }

    /// Lays out what the handler may ask for.
    fn prepare(&self) {
        crate::operator::set_host(self.host.clone());
        let mut state = self.host.state.borrow_mut();
        let new = match (&self.new, &self.body) {
            (Some(new), _) => new.clone(),
            (None, Some(body)) if self.call.reason.as_deref() != Some("delete") => diff::essence(body),
            _ => Value::Null,
        };
        let (old, new) = (part(self.old.clone(), &self.call.field), part(new, &self.call.field));
        state.segments.insert(tag::DIFF, diff::diff(&old, &new));
        state.segments.insert(tag::OLD, old);
        state.segments.insert(tag::NEW, new);
        state.segments.extend(self.raw.clone().map(|raw| (tag::EVENT, raw)));
        state.segments.extend(self.body.clone().map(|body| (tag::FRESH, body)));
    }

    fn invocation(&self) -> abi::Invocation {
        let said = &self.call;
        let meta = |key: &str| match &self.body {
            Some(body) => body["metadata"][key].as_str().unwrap_or_default().to_owned(),
            None => String::new(),
        };
        let reason = if self.old.is_null() { "create" } else { "update" };
        abi::Invocation {
            id: said.id.clone().unwrap_or_else(|| "test".to_owned()),
            param: Some(said.param.clone()),
            retry: said.retry,
            started: said.started.clone(),
            runtime: said.runtime.as_secs_f64(),
            name: meta("name"),
            namespace: meta("namespace"),
            uid: meta("uid"),
            reason: said.reason.clone().unwrap_or_else(|| reason.to_owned()),
            field: said.field.clone(),
            event_type: said.event_type.clone(),
            activity: said.activity.clone(),
            settings: Some(said.settings.clone()),
            admission: Some(said.admission.clone()),
            conversion: said.conversion.clone(),
            logins: said.logins.clone(),
            ..abi::Invocation::default()
        }
    }
}

/// The value of a field of a state; null without it.
fn part(mut state: Value, field: &[String]) -> Value {
    for key in field {
        state = state.get_mut(key).map_or(Value::Null, Value::take);
    }
    state
}

fn encode(value: impl Serialize) -> Value {
    serde_json::to_value(value).expect("values of tests can be written as JSON")
}
