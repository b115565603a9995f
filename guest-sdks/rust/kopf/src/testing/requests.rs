//! Requests of handlers, and their answers.

use kopf_abi::{self as abi, Headers};
use serde::Serialize;
use serde_json::{Value, json};

/// A request of a handler, as the host gets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Requested {
    /// It is for the API of Kubernetes; otherwise for an HTTP server.
    pub kubernetes: bool,
    /// In capitals.
    pub method: String,
    /// The path with the query, or the URL.
    pub path: String,
    /// Lists of values by names.
    pub headers: Headers,
    /// JSON, or a string with the text; null if there is none.
    pub body: Value,
}

/// The answer to a request, see [`Fixture::respond`](super::Fixture::respond).
#[derive(Clone, Debug)]
pub struct Reply(pub(super) Result<abi::Response, abi::Error>);

impl Reply {
    /// A body of JSON.
    ///
    /// # Panics
    ///
    /// The body cannot be written as JSON.
    pub fn json(status: u16, body: impl Serialize) -> Reply {
        let body = serde_json::to_value(body).expect("bodies of tests can be written as JSON");
        Reply::of(status, if body.is_string() { body.to_string().into() } else { body })
    }

    /// A body that is a text.
    pub fn text(status: u16, body: &str) -> Reply {
        Reply::of(status, body.into())
    }

    /// No answer: the code is one of those of SPEC.md of the ABI, "call", such as `Timeout`.
    pub fn none(code: &str, message: &str) -> Reply {
        let (type_name, message) = (code.to_owned(), message.to_owned());
        Reply(Err(abi::Error { type_name, message, ..abi::Error::default() }))
    }

    /// An error of the API of Kubernetes.
    pub(super) fn failed(code: u16, reason: &str, message: &str) -> Reply {
        Reply::json(code, json!({"kind": "Status", "code": code, "reason": reason, "message": message}))
    }

    fn of(status: u16, body: Value) -> Reply {
        Reply(Ok(abi::Response { status, body: Some(body), ..abi::Response::default() }))
    }

    /// The same answer with one more value of a header.
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        if let Ok(response) = &mut self.0 {
            response.headers.entry(name.to_owned()).or_default().push(value.to_owned());
        }
        self
    }
}

/// Answers requests of a test, or leaves them to the cluster in memory.
pub type Responder = dyn Fn(&Requested) -> Option<Reply>;
