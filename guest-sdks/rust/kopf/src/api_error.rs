//! Errors of the API of Kubernetes.

use crate::error::DecodeError;
use crate::request::{RequestError, Response};
use serde_json::Value;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// Why a request to the API of Kubernetes has failed.
///
/// ```
/// # use kopf::{ApiError, Change};
/// async fn delete_fn(c: Change) -> kopf::Result {
///     match c.api("v1", "configmaps").delete("obj1-archive").await {
///         Err(ApiError::NotFound(_)) => Ok(()), // as well
///         other => Ok(other?),
///     }
/// }
/// ```
///
/// Returned from a handler, answers of the API are as any error: the handler is retried. [`RequestError`]
/// describes requests that were not made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ApiError {
    /// There is no such object, or no such resource.
    NotFound(Status),
    /// The name is taken.
    AlreadyExists(Status),
    /// The object was changed meanwhile, or its fields are owned by others.
    Conflict(Status),
    /// By the rights of the operator in the cluster.
    Forbidden(Status),
    /// It is not what the resource allows.
    Invalid(Status),
    /// The listing took too long.
    Expired(Status),
    /// Too many requests.
    Busy(Status),
    /// Any other status that is an error.
    Other(Status),
    /// There is no answer.
    Request(RequestError),
    /// The answer does not fit into the type that was asked for.
    Decode(DecodeError),
}

/// An answer of the API that is an error.
///
/// See <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/>
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Status {
    /// The HTTP status.
    pub code: u16,
    /// `NotFound`, `AlreadyExists`, `Conflict`, `Forbidden`, `Invalid`, …
    pub reason: String,
    /// For people.
    pub message: String,
    /// What the API asks to wait for, if it does.
    pub retry_after: Option<Duration>,
    /// Causes with fields and messages; null if there are none.
    pub details: Value,
}

impl ApiError {
    pub(crate) fn of(answer: Response) -> ApiError {
        let retry_after = answer.header("Retry-After").and_then(|value| value.parse().ok()).map(Duration::from_secs);
        let mut status = Status { code: answer.status, retry_after, ..Status::default() };
        let body = answer.into_json();
        if body["kind"] == "Status" {
            let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
            status.reason = text("reason");
            status.message = text("message");
            status.details = body["details"].clone();
        }
        if status.message.is_empty() {
            status.message = format!("the API answered with the status {}", status.code);
        }
        variant(&status)(status)
    }

    /// The answer of the API; `None` if there is none.
    pub fn status(&self) -> Option<&Status> {
        match self {
            ApiError::NotFound(status)
            | ApiError::AlreadyExists(status)
            | ApiError::Conflict(status)
            | ApiError::Forbidden(status)
            | ApiError::Invalid(status)
            | ApiError::Expired(status)
            | ApiError::Busy(status)
            | ApiError::Other(status) => Some(status),
            ApiError::Request(_) | ApiError::Decode(_) => None,
        }
    }
}

/// What the reason stands for, or the status of an answer without one.
fn variant(status: &Status) -> fn(Status) -> ApiError {
    match (status.reason.as_str(), status.code) {
        ("NotFound", _) | ("", 404) => ApiError::NotFound,
        ("AlreadyExists", _) => ApiError::AlreadyExists,
        ("Conflict", _) | ("", 409) => ApiError::Conflict,
        ("Forbidden", _) | ("", 403) => ApiError::Forbidden,
        ("Invalid" | "BadRequest", _) | ("", 422) => ApiError::Invalid,
        ("Expired" | "Gone", _) | ("", 410) => ApiError::Expired,
        ("TooManyRequests", _) | ("", 429) => ApiError::Busy,
        _ => ApiError::Other,
    }
}

impl From<RequestError> for ApiError {
    fn from(err: RequestError) -> ApiError {
        ApiError::Request(err)
    }
}

impl From<DecodeError> for ApiError {
    fn from(err: DecodeError) -> ApiError {
        ApiError::Decode(err)
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApiError::Request(err) => err.fmt(f),
            ApiError::Decode(err) => err.fmt(f),
            other => f.write_str(other.status().map_or("", |status| &status.message)),
        }
    }
}

impl StdError for ApiError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            ApiError::Request(err) => Some(err),
            ApiError::Decode(err) => Some(err),
            _ => None,
        }
    }
}
