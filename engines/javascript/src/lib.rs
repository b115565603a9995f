//! The engine of operators in JavaScript: a guest that gets the script of its handlers
//! as configuration, KOPF_SCRIPT, and its name for messages, KOPF_SCRIPT_NAME. The
//! script is run once, at the registration; instances are clones of what it leaves.
//!
//! The messages of the contract are read and written by the library in JavaScript,
//! which is in lib. Here is what it cannot do by itself.
#![cfg(target_family = "wasm")]

mod engine;
mod functions;
mod module;
