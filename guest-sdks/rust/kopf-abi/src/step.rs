//! What a guest says next. See SPEC.md, "start, and the life of a task".

use crate::call::{Call, Response};
use crate::message::{Field, message, read_json, write_json, write_text};
use crate::reader::Reader;
use crate::registration::Handler;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

message! {
    /// What start and resume answer.
    #[derive(Default)]
    pub struct Step {
        /// done, wait, execute, call.
        step: String = "step" always,
        /// done: stored in the status of the object.
        result: Option<Json> = "result",
        /// done: a merge patch, applied also after errors.
        patch: Option<Map<String, Json>> = "patch",
        /// done: the number of transformation functions.
        transforms: usize = "transforms",
        /// done.
        error: Option<Error> = "error",
        /// done: shown to the user of a review.
        warnings: Vec<String> = "warnings",
        /// done: changes of settings by their dotted names.
        settings: BTreeMap<String, Json> = "settings",
        /// done: the result is a list of pairs of keys and values.
        keyed: bool = "keyed",
        /// wait: for ever if it is absent. call: the answer is empty if there is no response
        /// within this time.
        seconds: Option<f64> = "seconds",
        /// wait: it ends when the host asks the daemon to stop.
        stoppable: bool = "stoppable",
        /// done, execute: the sub-handlers.
        children: Vec<Handler> = "children",
        /// done, execute: the order of the sub-handlers.
        lifecycle: String = "lifecycle",
        /// call: the request.
        call: Option<Call> = "call",
        /// call: waits for the response to the request of the last step, in place of `call`.
        continues: bool = "continue",
    }
}

/// What an error means for the handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorKind {
    /// Retried after its delay.
    Temporary,
    /// Never retried.
    Permanent,
    /// As the option `errors` says.
    #[default]
    Arbitrary,
    /// Refuses a review; permanent elsewhere.
    Admission,
    /// Sub-handlers are unfinished.
    Children,
}

impl Field for ErrorKind {
    fn read(from: &mut Reader) -> Self {
        match from.value() {
            b"\"temporary\"" => ErrorKind::Temporary,
            b"\"permanent\"" => ErrorKind::Permanent,
            b"\"admission\"" => ErrorKind::Admission,
            b"\"children\"" => ErrorKind::Children,
            _ => ErrorKind::Arbitrary,
        }
    }

    fn write(&self, to: &mut Vec<u8>) {
        let name = match self {
            ErrorKind::Temporary => "temporary",
            ErrorKind::Permanent => "permanent",
            ErrorKind::Arbitrary => "arbitrary",
            ErrorKind::Admission => "admission",
            ErrorKind::Children => "children",
        };
        write_text(name, to);
    }

    fn is_empty(&self) -> bool {
        false
    }
}

message! {
    /// An error of a handler or of a callback.
    ///
    /// See <https://docs.kopf.dev/en/latest/errors/>
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Error {
        /// What it means.
        kind: ErrorKind = "kind" always,
        /// What happened.
        message: String = "message" always,
        /// As the language names it.
        type_name: String = "type",
        /// For the log.
        stack: String = "stack",
        /// Until the next attempt, if it is temporary.
        delay: Delay = "delay",
        /// The HTTP status of an admission error; 0: 500.
        code: u16 = "code",
    }
}

/// The time until the next attempt after a temporary error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Delay {
    /// 60 seconds.
    #[default]
    Default,
    /// None.
    AtOnce,
    /// This many.
    Seconds(f64),
}

impl Field for Delay {
    fn read(from: &mut Reader) -> Self {
        read_json(from).as_f64().map_or(Delay::AtOnce, Delay::Seconds)
    }

    fn write(&self, to: &mut Vec<u8>) {
        let json = match *self {
            Delay::Seconds(seconds) => seconds.into(),
            Delay::Default | Delay::AtOnce => Json::Null,
        };
        write_json(&json, to);
    }

    fn is_empty(&self) -> bool {
        *self == Delay::Default
    }
}

message! {
    /// What resume gets: the wish is fulfilled.
    #[derive(Clone, Default)]
    pub struct Answer {
        /// Why a daemon must stop; empty if it must not.
        stopped: Vec<String> = "stopped",
        /// The task is to end.
        cancelled: bool = "cancelled",
        /// Sub-handlers are unfinished.
        pending: bool = "pending",
        /// To a call.
        response: Option<Response> = "response",
        /// To a call: there is no response.
        error: Option<Error> = "error",
    }
}

message! {
    /// What transform answers.
    #[derive(Default)]
    pub struct TransformResult {
        /// The whole body after all functions.
        body: Option<Json> = "body",
        /// The first error.
        error: Option<Error> = "error",
    }
}

message! {
    /// A Kubernetes event about an object.
    ///
    /// See <https://docs.kopf.dev/en/latest/events/>
    #[derive(Default)]
    pub struct Event {
        /// 20 info, 30 warn, 40 exception; 0: it is posted whatever the settings say.
        level: u32 = "level",
        /// Normal, Warning, Error, or another one.
        event_type: String = "type" always,
        /// In one word.
        reason: String = "reason" always,
        /// In a sentence.
        message: String = "message" always,
        /// Absent: the handled object.
        object: Option<Json> = "object",
        /// Pauses in seconds between attempts; absent: those of the settings.
        backoffs: Option<Json> = "backoffs",
    }
}
