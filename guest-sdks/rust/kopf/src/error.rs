//! Errors of handlers.

use crate::request::RequestError;
use crate::scan;
use kopf_abi as abi;
use std::any::{Any, type_name, type_name_of_val};
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// What handlers return. See [`Error`].
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// An error with a meaning for Kopf, as a type that implements [`std::error::Error`]: for error types of your own,
/// whose source it is. Handlers return an [`Error`], which has the same constructors.
///
/// Anywhere in the chain of sources of a returned error its meaning counts, the outermost one first.
///
/// ```
/// # use kopf::{Change, HandlerError};
/// #[derive(Debug)]
/// struct NoSpace(HandlerError);
///
/// impl std::fmt::Display for NoSpace {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         f.write_str("no space is left")
///     }
/// }
///
/// impl std::error::Error for NoSpace {
///     fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
///         Some(&self.0)
///     }
/// }
///
/// async fn create_fn(c: Change) -> kopf::Result {
///     Err(NoSpace(HandlerError::temporary("wait for space")))?
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum HandlerError {
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
        /// The message for the user.
        message: String,
        /// The status.
        code: u16,
    },
    /// Sub-handlers are unfinished: see [`Change::execute`](crate::Change::execute).
    ChildrenPending,
}

/// The time until the next attempt after a temporary error.
#[derive(Clone, Copy, Default, PartialEq)]
pub enum Delay {
    /// 60 seconds.
    #[default]
    Default,
    /// None: at once.
    None,
    /// This long.
    After(Duration),
}

/// That of [`Duration`] would be 2 KB in each module, as all errors have it.
impl fmt::Debug for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delay::Default => f.write_str("Default"),
            Delay::None => f.write_str("None"),
            Delay::After(after) => write!(f, "After({}.{:03}s)", after.as_secs(), after.subsec_millis()),
        }
    }
}

impl From<Duration> for Delay {
    fn from(delay: Duration) -> Delay {
        Delay::After(delay)
    }
}

impl HandlerError {
    /// An error after which the handler is called again, in 60 seconds.
    pub fn temporary(message: impl fmt::Display) -> HandlerError {
        HandlerError::Temporary { message: message.to_string(), delay: Delay::Default, source: None }
    }

    /// An error after which the handler is not called again.
    pub fn permanent(message: impl fmt::Display) -> HandlerError {
        HandlerError::Permanent { message: message.to_string(), source: None }
    }

    /// Refuses a review, with the status 500.
    ///
    /// See <https://docs.kopf.dev/en/latest/admission/>
    pub fn admission(message: impl fmt::Display) -> HandlerError {
        HandlerError::Admission { message: message.to_string(), code: 500 }
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HandlerError::Temporary { message, source: Some(source), .. }
            | HandlerError::Permanent { message, source: Some(source) } => {
                write!(f, "{message}: {source}")
            }
            HandlerError::Temporary { message, .. }
            | HandlerError::Permanent { message, .. }
            | HandlerError::Admission { message, .. } => f.write_str(message),
            HandlerError::ChildrenPending => f.write_str("sub-handlers are not finished yet"),
        }
    }
}

impl StdError for HandlerError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            HandlerError::Temporary { source, .. } | HandlerError::Permanent { source, .. } => source.as_deref(),
            _ => None,
        }
    }
}

/// Any error of a handler. Its constructors say what is to become of the handler:
///
/// ```
/// # use kopf::{Change, Error};
/// # use std::time::Duration;
/// async fn create_fn(c: Change) -> kopf::Result {
///     if c.retry < 3 {
///         return Err(Error::temporary("not yet").delay(Duration::from_secs(10)));
///     }
///     let size = c.spec["size"].as_u64().ok_or_else(|| Error::permanent("the size is not a number"))?;
///     kopf::info!(c, "{size}");
///     Ok(())
/// }
/// ```
///
/// The operator `?` makes it of every type that implements [`std::error::Error`]. These mean what the option `errors` of
/// the handler says: by default, to try again after its `backoff`. A [`HandlerError`] in their chain of sources says
/// otherwise. For others, such as `anyhow::Error` and boxes of errors, say it:
///
/// ```
/// # use kopf::{Change, Error};
/// # fn connect() -> Result<(), Box<dyn std::error::Error>> {
/// #     Ok(())
/// # }
/// async fn update_fn(c: Change) -> kopf::Result {
///     connect().map_err(Error::temporary)?;
///     Ok(())
/// }
/// ```
///
/// It does not implement [`std::error::Error`], as every type that does becomes one.
///
/// See <https://docs.kopf.dev/en/latest/errors/>
pub struct Error(abi::Error);

impl<E: StdError + 'static> From<E> for Error {
    fn from(err: E) -> Error {
        Error(abi::Error {
            message: err.to_string(),
            type_name: short_name(if (&err as &dyn Any).is::<HandlerError>() {
                variant(&err)
            } else {
                type_name::<E>()
            }),
            ..meaning(&err)
        })
    }
}

impl Error {
    /// An error after which the handler is called again, in 60 seconds.
    pub fn temporary(message: impl fmt::Display) -> Error {
        HandlerError::temporary(message).into()
    }

    /// An error after which the handler is not called again for this change.
    pub fn permanent(message: impl fmt::Display) -> Error {
        HandlerError::permanent(message).into()
    }

    /// Refuses a review, with the status 500. Elsewhere it is permanent.
    ///
    /// See <https://docs.kopf.dev/en/latest/admission/>
    pub fn admission(message: impl fmt::Display) -> Error {
        HandlerError::admission(message).into()
    }

    /// The same temporary error with another delay. Other errors have none.
    pub fn delay(mut self, after: impl Into<Delay>) -> Error {
        if self.0.kind == abi::ErrorKind::Temporary {
            self.0.delay = wire_delay(after.into());
        }
        self
    }

    /// The same admission error with another status. Other errors have none.
    pub fn code(mut self, status: u16) -> Error {
        if self.0.kind == abi::ErrorKind::Admission {
            self.0.code = status;
        }
        self
    }

    /// The same temporary or permanent error with a cause, which ends the message. Others have none.
    pub fn because(mut self, cause: impl fmt::Display) -> Error {
        if matches!(self.0.kind, abi::ErrorKind::Temporary | abi::ErrorKind::Permanent) {
            self.0.message = format!("{}: {cause}", self.0.message);
        }
        self
    }

    pub(crate) fn wire(self) -> abi::Error {
        self.0
    }

    /// Names what an error is about, and keeps its meaning.
    pub(crate) fn about(mut self, what: &str) -> Error {
        self.0.message = format!("{what}: {}", self.0.message);
        self
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?})", self.0.message, self.0.kind)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

/// The name of Kopf's class.
fn variant(err: &(dyn StdError + 'static)) -> &'static str {
    match err.downcast_ref() {
        Some(HandlerError::Temporary { .. }) => "TemporaryError",
        Some(HandlerError::Permanent { .. }) => "PermanentError",
        Some(HandlerError::Admission { .. }) => "AdmissionError",
        _ => "ChildrenPending",
    }
}

/// A type without the modules that it is in.
pub(crate) fn short_name(name: &str) -> String {
    let plain = name.split('<').next().unwrap_or(name);
    plain.rsplit(':').next().unwrap_or(plain).to_owned()
}

/// The kind of the outermost error in the chain that has one.
fn meaning(err: &(dyn StdError + 'static)) -> abi::Error {
    let mut next = Some(err);
    while let Some(err) = next {
        if let Some(err) = err.downcast_ref::<HandlerError>() {
            return match err {
                HandlerError::Temporary { delay, .. } => {
                    abi::Error { kind: abi::ErrorKind::Temporary, delay: wire_delay(*delay), ..Default::default() }
                }
                HandlerError::Permanent { .. } => abi::Error { kind: abi::ErrorKind::Permanent, ..Default::default() },
                HandlerError::Admission { code, .. } => {
                    abi::Error { kind: abi::ErrorKind::Admission, code: *code, ..Default::default() }
                }
                HandlerError::ChildrenPending => abi::Error { kind: abi::ErrorKind::Children, ..Default::default() },
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
        let mut problem = err.to_string();
        let place = format!(" at line {} column {}", err.line(), err.column());
        if problem.ends_with(&place) {
            problem.truncate(problem.len() - place.len());
        }
        DecodeError { path: path.join("."), problem }
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
    struct Wrapper(HandlerError);

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
        let cases: [(&str, Error, abi::Error); 5] = [
            (
                "temporary",
                Error::temporary("later").delay(Duration::from_millis(1500)),
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
                Wrapper(HandlerError::permanent("never")).into(),
                abi::Error {
                    kind: abi::ErrorKind::Permanent,
                    message: "wrapped: never".into(),
                    type_name: "Wrapper".into(),
                    ..Default::default()
                },
            ),
            (
                "the outermost counts",
                Error::temporary("again").delay(Delay::None).because(Error::permanent("inner")),
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
                Error::admission("no").code(418),
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
