//! Requests to HTTP servers, and the errors of all requests.

use crate::call::Call;
use crate::error::DecodeError;
use crate::task::Task;
use crate::view::View;
use kopf_abi::{self as abi, BASE64, Headers, target};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// A request to an HTTP server, for [`Call::fetch`].
///
/// ```
/// # use kopf::{Request, json};
/// # use std::time::Duration;
/// let request = Request::post("https://api.example.com/v1/archives")
///     .header("Authorization", "Bearer t0ken")
///     .json(json!({"name": "obj1"}))
///     .timeout(Duration::from_secs(5));
/// ```
#[derive(Clone, Debug)]
pub struct Request {
    call: abi::Call,
    json: bool,
    problem: Option<String>,
}

impl Request {
    /// A request of any method.
    pub fn new(method: &str, url: impl Into<String>) -> Request {
        let (target, method) = (target::HTTP.to_owned(), method.to_owned());
        let call = abi::Call { target, method, path: url.into(), ..abi::Call::default() };
        Request { call, json: false, problem: None }
    }

    /// A request that reads.
    pub fn get(url: impl Into<String>) -> Request {
        Request::new("GET", url)
    }

    /// A request that sends something.
    pub fn post(url: impl Into<String>) -> Request {
        Request::new("POST", url)
    }

    /// Adds a value of a header.
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Request {
        self.call.headers.entry(name.to_owned()).or_default().push(value.into());
        self
    }

    /// Sends a text, or bytes, as they are.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Request {
        let (text, encoding) = match String::from_utf8(body.into()) {
            Ok(text) => (text, ""),
            Err(err) => (abi::to_base64(err.as_bytes()), BASE64),
        };
        self.call.body = Some(text.into());
        self.call.encoding = encoding.to_owned();
        self.json = false;
        self
    }

    /// Sends anything that [`serde`] can write as JSON, and says so in the header `Content-Type`,
    /// unless that is set.
    pub fn json(mut self, body: impl Serialize) -> Request {
        match serde_json::to_string(&body) {
            Ok(text) => self.call.body = Some(text.into()),
            Err(err) => self.problem = Some(format!("the body: {err}")),
        }
        self.call.encoding = String::new();
        self.json = true;
        self
    }

    /// Bounds the whole request; the host has a limit of its own.
    pub fn timeout(mut self, timeout: Duration) -> Request {
        self.call.timeout = timeout.as_secs_f64();
        self
    }
}

/// The answer of an HTTP server, whatever its status.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: Headers,
    body: Body,
}

/// A body as the host hands it on.
#[derive(Clone, Debug)]
enum Body {
    Json(Value),
    Text(String),
    Bytes(Vec<u8>),
}

impl Response {
    pub(crate) fn new(answer: abi::Response) -> Result<Response, RequestError> {
        let body = match answer.body {
            Some(Value::String(text)) if answer.encoding == BASE64 => match abi::from_base64(&text) {
                Some(bytes) => Body::Bytes(bytes),
                None => return Err(RequestError::Invalid("the answer is not in base64".to_owned())),
            },
            Some(Value::String(text)) => Body::Text(text),
            Some(json) => Body::Json(json),
            None => Body::Text(String::new()),
        };
        Ok(Response { status: answer.status, headers: answer.headers, body })
    }

    /// The first value of a header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, values) = self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))?;
        values.first().map(String::as_str)
    }

    /// The body as a text; what is not UTF-8 in it is replaced.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.body {
            Body::Text(text) => text.as_str().into(),
            Body::Json(json) => json.to_string().into(),
            Body::Bytes(bytes) => String::from_utf8_lossy(bytes),
        }
    }

    /// The body. JSON may be written differently from how it was sent.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        match &self.body {
            Body::Text(text) => text.as_bytes().into(),
            Body::Json(json) => json.to_string().into_bytes().into(),
            Body::Bytes(bytes) => bytes.into(),
        }
    }

    /// A view of the body; one that is not JSON looks like null.
    pub fn json(&self) -> View {
        match &self.body {
            Body::Json(json) => View::from(json.clone()),
            _ => View::of_text(self.bytes()),
        }
    }

    /// Decodes the body into a type of yours.
    ///
    /// Errors name the field, and make a handler fail for good.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        self.json().decode()
    }

    /// The JSON of the body, without a copy.
    pub(crate) fn into_json(self) -> View {
        match self.body {
            Body::Json(json) => View::from(json),
            _ => View::of_text(self.bytes()),
        }
    }
}

/// Why there is no answer to a request. Returned from a handler, those that another attempt would
/// not help are permanent errors; the others are as any error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// The administrator has not granted it; the message says how to grant it.
    NotGranted(String),
    /// No request can be made of it. Permanent.
    Invalid(String),
    /// Nothing may be written now: in a dry run, for example. Permanent.
    ReadOnly(String),
    /// The request or the answer is over a limit. Permanent.
    TooLarge(String),
    /// There is no connection to the cluster yet. Permanent.
    NotReady(String),
    /// No answer in time.
    Timeout(String),
    /// No connection, or a broken one.
    Unreachable(String),
    /// The handler was cancelled meanwhile; whether the request has had an effect is unknown.
    Cancelled(String),
    /// Anything else that a newer host may say.
    Other(String),
}

impl RequestError {
    fn of(error: abi::Error) -> RequestError {
        let variant = match error.type_name.as_str() {
            "NotGranted" => RequestError::NotGranted,
            "Invalid" => RequestError::Invalid,
            "ReadOnly" => RequestError::ReadOnly,
            "TooLarge" => RequestError::TooLarge,
            "NotReady" => RequestError::NotReady,
            "Timeout" => RequestError::Timeout,
            "Unreachable" => RequestError::Unreachable,
            "Cancelled" => RequestError::Cancelled,
            _ => RequestError::Other,
        };
        variant(error.message)
    }

    /// The word for it in SPEC.md of the ABI, "call".
    pub fn code(&self) -> &'static str {
        self.parts().0
    }

    pub(crate) fn is_permanent(&self) -> bool {
        use RequestError::*;
        matches!(self, Invalid(_) | ReadOnly(_) | TooLarge(_) | NotReady(_))
    }

    fn parts(&self) -> (&'static str, &str) {
        match self {
            RequestError::NotGranted(message) => ("NotGranted", message),
            RequestError::Invalid(message) => ("Invalid", message),
            RequestError::ReadOnly(message) => ("ReadOnly", message),
            RequestError::TooLarge(message) => ("TooLarge", message),
            RequestError::NotReady(message) => ("NotReady", message),
            RequestError::Timeout(message) => ("Timeout", message),
            RequestError::Unreachable(message) => ("Unreachable", message),
            RequestError::Cancelled(message) => ("Cancelled", message),
            RequestError::Other(message) => ("Other", message),
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.parts().1)
    }
}

impl StdError for RequestError {}

impl Call {
    /// Makes a request to an HTTP server, and waits for the whole answer; the host does other
    /// work meanwhile. The server must be granted to the operator: see
    /// [`Operator::want`](crate::Operator::want).
    ///
    /// ```
    /// # use kopf::{Change, Error, Request, Value};
    /// async fn create_fn(c: Change) -> kopf::Result<Value> {
    ///     let answer = c.fetch(Request::get("https://api.example.com/v1/things")).await?;
    ///     if answer.status != 200 {
    ///         return Err(Error::temporary("the server is busy"));
    ///     }
    ///     Ok(answer.json()["id"].clone())
    /// }
    /// ```
    ///
    /// Errors: there is no answer. A status is not an error.
    pub async fn fetch(&self, mut request: Request) -> Result<Response, RequestError> {
        if request.json && !request.call.headers.keys().any(|name| name.eq_ignore_ascii_case("Content-Type")) {
            request = request.header("Content-Type", "application/json");
        }
        match request.problem {
            Some(problem) => Err(RequestError::Invalid(problem)),
            None => send(&self.task, request.call).await,
        }
    }
}

/// Hands a request to the host, and waits for the answer.
pub(crate) async fn send(task: &Task, call: abi::Call) -> Result<Response, RequestError> {
    let answer = task.request(call).await;
    match (answer.error, answer.response) {
        (Some(error), _) => Err(RequestError::of(error)),
        (None, Some(response)) => Response::new(response),
        (None, None) => Err(RequestError::Cancelled("the request was abandoned".to_owned())),
    }
}
