//! Calls of handlers in tests of `cargo test`, without a cluster and without WebAssembly.
//!
//! ```
//! use kopf::testing::Fixture;
//! use kopf::{Change, json};
//!
//! async fn create_fn(c: Change) -> kopf::Result<String> {
//!     c.patch.status().set("seen", true);
//!     c.events.info("Created", "all is well")?;
//!     Ok(format!("hello, {}", c.name))
//! }
//!
//! let outcome = Fixture::new(json!({"metadata": {"name": "obj1"}, "spec": {}})).run(create_fn);
//! assert_eq!(outcome.result, "hello, obj1");
//! assert_eq!(outcome.patch, json!({"status": {"seen": true}}));
//! assert_eq!(outcome.events[0].reason, "Created");
//! ```
//!
//! [`scenarios`] runs the scenarios of `kopf test`. [`Runner`] runs a whole operator on a cluster.
//!
//! Waits are over at once, sub-handlers run once each. Requests to Kubernetes go to a small cluster in
//! memory, see [`Fixture::object`], unless [`Fixture::respond`] answers them; those to HTTP servers
//! need it.

mod cluster;
mod conversion;
mod diff;
mod driver;
mod fixture;
pub(crate) mod host;
mod requests;
#[cfg(not(target_family = "wasm"))]
mod runner;

pub use conversion::{convert, round_trip};
pub use fixture::Fixture;
pub use kopf_abi::{Error as HandlerError, ErrorKind};
pub use requests::{Reply, Requested};
#[cfg(not(target_family = "wasm"))]
pub use runner::{Runner, scenarios};

use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// How a handler ended, and what it did meanwhile.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Its result; null if there is none.
    pub result: Value,
    /// Its error; `None` if it succeeded.
    pub error: Option<HandlerError>,
    /// Its merge patch; null if there is none.
    pub patch: Value,
    /// The body after the functions of [`Patch::edit`](crate::Patch::edit); `None` if there are none.
    pub edited: Option<Value>,
    /// The outcomes of its sub-handlers, by their full ids.
    pub children: BTreeMap<String, Outcome>,
    /// Warnings of a review.
    pub warnings: Vec<String>,
    /// Changes of settings.
    pub settings: BTreeMap<String, Value>,
    /// What was logged: levels and lines.
    pub logs: Vec<(u32, String)>,
    /// Kubernetes events that were posted.
    pub events: Vec<Posted>,
    /// What was waited for.
    pub waits: Vec<Duration>,
    /// What was requested, in order.
    pub requests: Vec<Requested>,
}

/// A Kubernetes event that was posted.
#[derive(Clone, Debug, PartialEq)]
pub struct Posted {
    /// Normal, Warning, Error, or another one.
    pub event_type: String,
    /// In one word.
    pub reason: String,
    /// In a sentence.
    pub message: String,
    /// The object it is about; `None`: the handled one.
    pub object: Option<Value>,
    /// The pauses between attempts in seconds, if it has its own.
    pub backoffs: Option<Value>,
}
