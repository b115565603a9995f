//! Errors of handlers.

use crate::request::RequestError;
use crate::scan;
use kopf_abi as abi;
use std::any::{Any, type_name, type_name_of_val};
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// What handlers return. See [`Failure`].
pub type Result<T = (), E = Failure> = std::result::Result<T, E>;

/// An error that tells what is to become of the handler. All other errors mean what
/// the option `errors` of the handler says: by default, to try again after its `backoff`.
///
/// ```
/// # use kopf::{Change, Error};
/// # use std::time::Duration;
/// async fn create_fn(c: Change) -> kopf::Result {
///     if c.retry < 3 {
///         return Err(Error::temporary("not yet").delay(Duration::from_secs(10)).into());
///     }
///     if c.spec["size"].as_u64().is_none() {
///         return Err(Error::permanent("the size is not a number").into());
///     }
///     Ok(())
/// }
/// ```
///
/// Anywhere in the chain of sources of a returned error it counts, the outermost
/// one first.
///
/// See <https://docs.kopf.dev/en/latest/errors/>
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The handler is called again later.
    Temporary {
        /// What happened.
        message: String,
        /// The time until the next attempt: 60 seconds by default.
        delay: Delay,
        /// The cause.
        source: Option<Box<dyn StdError>>,
    },
    /// The handler fails for good: it is not called again for this change.
    Permanent {
        /// What happened.
        message: String,
        /// The cause.
        source: Option<Box<dyn StdError>>,
    },
    /// Refuses a review with an HTTP status. Elsewhere it is permanent.
    Admission {
        /// What the user is told.
        message: String,
        /// The status.
        code: u16,
    },
    /// Sub-handlers are unfinished: see [`Change::execute`](crate::Change::execute).
    ChildrenPending,
}

/// The time until the next attempt after a temporary error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Delay {
    /// 60 seconds.
    #[default]
    Default,
    /// None: at once.
    None,
    /// This long.
    After(Duration),
}

impl From<Duration> for Delay {
    fn from(delay: Duration) -> Delay {
        Delay::After(delay)
    }
}

impl Error {
    /// An error after which the handler is called again, in 60 seconds.
    pub fn temporary(message: impl fmt::Display) -> Error {
        Error::Temporary { message: message.to_string(), delay: Delay::Default, source: None }
    }

    /// An error after which the handler is not called again.
    pub fn permanent(message: impl fmt::Display) -> Error {
        Error::Permanent { message: message.to_string(), source: None }
    }

    /// Refuses a review, with the status 500.
    ///
    /// See <https://docs.kopf.dev/en/latest/admission/>
    pub fn admission(message: impl fmt::Display) -> Error {
        Error::Admission { message: message.to_string(), code: 500 }
    }

    /// The same temporary error with another delay. Other errors have none.
    pub fn delay(mut self, after: impl Into<Delay>) -> Error {
        if let Error::Temporary { delay, .. } = &mut self {
            *delay = after.into();
        }
        self
    }

    /// The same admission error with another status. Other errors have none.
    pub fn code(mut self, status: u16) -> Error {
        if let Error::Admission { code, .. } = &mut self {
            *code = status;
        }
        self
    }

    /// The same temporary or permanent error with a cause. Others have none.
    pub fn because(mut self, cause: impl Into<Box<dyn StdError>>) -> Error {
        if let Error::Temporary { source, .. } | Error::Permanent { source, .. } = &mut self {
            *source = Some(cause.into());
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Temporary { message, source: Some(source), .. }
            | Error::Permanent { message, source: Some(source) } => {
                write!(f, "{message}: {source}")
            }
            Error::Temporary { message, .. } | Error::Permanent { message, .. } | Error::Admission { message, .. } => {
                f.write_str(message)
            }
            Error::ChildrenPending => f.write_str("sub-handlers are not finished yet"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Error::Temporary { source, .. } | Error::Permanent { source, .. } => source.as_deref(),
            _ => None,
        }
    }
}

/// Any error of a handler. The operator `?` makes it of every error type; an
/// [`Error`] in the chain of sources says what is to become of the handler.
pub struct Failure(abi::Error);

impl<E: StdError + 'static> From<E> for Failure {
    fn from(err: E) -> Failure {
        Failure(abi::Error {
            message: err.to_string(),
            type_name: short_name(if (&err as &dyn Any).is::<Error>() { variant(&err) } else { type_name::<E>() }),
            ..meaning(&err)
        })
    }
}

impl Failure {
    pub(crate) fn wire(self) -> abi::Error {
        self.0
    }

    /// Names what an error is about, and keeps its meaning.
    pub(crate) fn about(mut self, what: &str) -> Failure {
        self.0.message = format!("{what}: {}", self.0.message);
        self
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?})", self.0.message, self.0.kind)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

/// The name of the reference's class.
fn variant(err: &(dyn StdError + 'static)) -> &'static str {
    match err.downcast_ref() {
        Some(Error::Temporary { .. }) => "TemporaryError",
        Some(Error::Permanent { .. }) => "PermanentError",
        Some(Error::Admission { .. }) => "AdmissionError",
        _ => "ChildrenPending",
    }
}

/// A type without the modules that it is in.
pub(crate) fn short_name(name: &str) -> String {
    let plain = name.split('<').next().unwrap_or(name);
    plain.rsplit("::").next().unwrap_or(plain).to_owned()
}

/// The kind of the outermost error in the chain that has one.
fn meaning(err: &(dyn StdError + 'static)) -> abi::Error {
    let mut next = Some(err);
    while let Some(err) = next {
        if let Some(err) = err.downcast_ref::<Error>() {
            return match err {
                Error::Temporary { delay, .. } => {
                    abi::Error { kind: abi::ErrorKind::Temporary, delay: wire_delay(*delay), ..Default::default() }
                }
                Error::Permanent { .. } => abi::Error { kind: abi::ErrorKind::Permanent, ..Default::default() },
                Error::Admission { code, .. } => {
                    abi::Error { kind: abi::ErrorKind::Admission, code: *code, ..Default::default() }
                }
                Error::ChildrenPending => abi::Error { kind: abi::ErrorKind::Children, ..Default::default() },
            };
        }
        let is_refused = err.downcast_ref().is_some_and(RequestError::is_permanent);
        if is_refused || err.is::<DecodeError>() {
            return abi::Error { kind: abi::ErrorKind::Permanent, ..Default::default() };
        }
        next = err.source();
    }
    abi::Error::default()
}

fn wire_delay(delay: Delay) -> abi::Delay {
    match delay {
        Delay::Default => abi::Delay::Default,
        Delay::None => abi::Delay::AtOnce,
        Delay::After(after) => abi::Delay::Seconds(after.as_secs_f64()),
    }
}

/// The handler is to end now: what it awaited was cancelled. It may clean up before it
/// returns; a cancelled handler that returns an error leaves no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the handler is cancelled")
    }
}

impl StdError for Cancelled {}

/// A part of an object that does not fit into a type. It makes a handler fail for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// The dotted path of the field; empty if it is the whole.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
}

impl DecodeError {
    pub(crate) fn new(name: &str, text: &[u8], err: &serde_json::Error) -> DecodeError {
        let mut path: Vec<String> = Vec::new();
        if !name.is_empty() {
            path.push(name.to_owned());
        }
        path.extend(scan::path_at(text, position(text, err)));
        let problem = err.to_string();
        let problem = problem.rsplit_once(" at line ").map_or(problem.as_str(), |(problem, _)| problem);
        DecodeError { path: path.join("."), problem: problem.to_owned() }
    }
}

/// Where in the text an error was found: at the last byte of the value.
fn position(text: &[u8], err: &serde_json::Error) -> usize {
    let before: usize =
        text.split_inclusive(|byte| *byte == b'\n').take(err.line().saturating_sub(1)).map(<[u8]>::len).sum();
    (before + err.column()).saturating_sub(1)
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.problem)
    }
}

impl StdError for DecodeError {}

/// The name of the type of an error, for reasons of events.
pub(crate) fn name_of<E: StdError + ?Sized>(err: &E) -> String {
    short_name(type_name_of_val(err))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Wrapper(Error);

    impl fmt::Display for Wrapper {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "wrapped: {}", self.0)
        }
    }

    impl StdError for Wrapper {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn the_chain_of_sources_counts() {
        let cases: [(&str, Failure, abi::Error); 5] = [
            (
                "temporary",
                Error::temporary("later").delay(Duration::from_millis(1500)).into(),
                abi::Error {
                    kind: abi::ErrorKind::Temporary,
                    message: "later".into(),
                    type_name: "TemporaryError".into(),
                    delay: abi::Delay::Seconds(1.5),
                    ..Default::default()
                },
            ),
            (
                "wrapped",
                Wrapper(Error::permanent("never").because("a reason")).into(),
                abi::Error {
                    kind: abi::ErrorKind::Permanent,
                    message: "wrapped: never: a reason".into(),
                    type_name: "Wrapper".into(),
                    ..Default::default()
                },
            ),
            (
                "the outermost counts",
                Error::temporary("again").delay(Delay::None).because(Error::permanent("inner")).into(),
                abi::Error {
                    kind: abi::ErrorKind::Temporary,
                    message: "again: inner".into(),
                    type_name: "TemporaryError".into(),
                    delay: abi::Delay::AtOnce,
                    ..Default::default()
                },
            ),
            (
                "admission",
                Error::admission("no").code(418).into(),
                abi::Error {
                    kind: abi::ErrorKind::Admission,
                    message: "no".into(),
                    type_name: "AdmissionError".into(),
                    code: 418,
                    ..Default::default()
                },
            ),
            (
                "any other",
                "x".parse::<u8>().unwrap_err().into(),
                abi::Error {
                    message: "invalid digit found in string".into(),
                    type_name: "ParseIntError".into(),
                    ..Default::default()
                },
            ),
        ];
        for (name, failure, want) in cases {
            assert_eq!(failure.wire(), want, "{name}");
        }
    }
}
