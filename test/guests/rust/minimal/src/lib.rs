//! A guest without an SDK. It declares one handler, `create_fn`, whose behaviour
//! depends on the spec of the object:
//!
//! - `fail: temporary` fails at the first attempt, to be retried after a second;
//! - `fail: permanent` fails for good;
//! - `fail: panic` panics;
//! - `fail: spin`, `fail: recurse` and `fail: grow` do not end by themselves;
//! - `wait: SECONDS` waits before it goes on;
//! - otherwise it patches the status and returns a result.

mod border;
mod frame;
mod handlers;
mod host;
mod tasks;
