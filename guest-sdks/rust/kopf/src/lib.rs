//! Kubernetes operators as a few plain functions, compiled to WebAssembly.
//!
//! ```no_run
//! use kopf::{Change, Value, json};
//!
//! #[kopf::create("kopfexamples")]
//! async fn create_fn(c: Change) -> kopf::Result<Value> {
//!     kopf::info!(c, "a new object with the field {}", c.spec["field"]);
//!     c.patch.status().set("seen", true);
//!     Ok(json!({"message": "hello"}))
//! }
//!
//! kopf::operator!(create_fn);
//! # fn main() {}
//! ```
//!
//! The crate is a library of the type `cdylib`. It is built with
//! `cargo build --release --target wasm32-unknown-unknown`, and run with
//! `kopf run target/wasm32-unknown-unknown/release/NAME.wasm -n default`.
//!
//! A handler is a function, async or not, with one attribute or several of this crate, which
//! have the options of Kopf's decorators by their names. What it gets depends on its kind:
//!
//! | attributes | argument |
//! |---|---|
//! | [`create`], [`update`], [`delete`], [`resume`], [`field`] | [`Change`] |
//! | [`event`] | [`Event`] |
//! | [`timer`], [`daemon`] | [`Timer`], [`Daemon`] |
//! | [`index`] | [`Indexed`] |
//! | [`validate`], [`mutate`] | [`Review`] |
//! | [`convert`] | [`Conversion`] |
//! | [`startup`], [`cleanup`], [`probe`], [`login`] | [`Activity`] |
//! | [`background`] | [`Background`] |
//!
//! Handlers wait with [`Call::sleep`], [`Daemon::wait`], [`Change::execute`], and for requests with
//! [`Call::api`] and [`Call::fetch`]: the host does other work meanwhile. A handler awaits one thing at a time, and nothing of other runtimes.
//!
//! An operator runs natively too, for breakpoints and profilers: see [`operator!`].
//!
//! The module [`testing`] calls handlers in tests of `cargo test`, without a cluster.

mod activity;
mod api;
mod api_error;
mod call;
mod change;
mod context;
mod conversion;
mod daemon;
mod error;
mod event;
mod events;
mod filters;
mod handler;
mod hierarchy;
mod index;
mod log;
mod login;
mod memo;
#[cfg_attr(not(target_family = "wasm"), allow(dead_code))] // only the host calls all of it
mod module;
#[cfg(not(target_family = "wasm"))]
mod native;
mod object;
mod operator;
mod options;
mod patch;
mod rand;
mod request;
mod review;
mod scan;
mod selector;
mod task;
mod times;
mod view;

#[doc(hidden)]
pub mod __private;
pub mod testing;

pub use activity::{Activity, Settings};
pub use api::{Api, DeleteOptions, List};
pub use api_error::{ApiError, Status};
pub use call::Call;
pub use change::{Change, DiffItem};
pub use conversion::{Conversion, Converted};
pub use daemon::{Background, Daemon, Timer};
pub use error::{Cancelled, DecodeError, Delay, Error, HandlerError, Result};
pub use event::Event;
pub use events::Events;
pub use filters::{ABSENT, Cause, Filter, PRESENT, all, any, none, not};
pub use handler::{Argument, Handler, Lifecycle, Outcome, Verdict};
pub use hierarchy::{Adoption, Children, Owner, OwnerFlag};
pub use index::{Index, Indexed, Keyed, Unkeyed, Values};
pub use kopf_abi::{Capabilities, Errno, KubernetesRule, Resource};
pub use kopf_macros::{
    background, cleanup, convert, create, daemon, delete, event, field, index, login, mutate, probe, resume, startup,
    timer, update, validate,
};
pub use log::{Level, Logger, print_line};
pub use login::{ConnectionInfo, login_with, login_with_kubeconfig, login_with_service_account};
pub use memo::{Memo, MemoError};
pub use object::{Object, Spec};
pub use operator::{Operator, config};
pub use options::{ErrorsMode, FieldPath, Seconds};
pub use patch::{Part, Patch};
pub use rand::Rng;
pub use request::{Request, RequestError, Response};
pub use review::Review;
pub use selector::{EVERYTHING, Selector};
pub use serde_json::{Map, Value, json};
pub use view::View;
