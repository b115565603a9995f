//! Rust in the manual: a module for each page, with the names of those in Go.
#![allow(dead_code)]

mod admission;
#[path = "async.rs"]
mod asynchronous;
mod authentication;
mod children;
mod configuration;
mod conversion;
mod daemons;
mod errors;
mod events;
mod filters;
mod handlers;
mod hierarchies;
mod indexing;
mod kwargs;
mod memos;
mod operators;
mod patches;
mod probing;
mod reconciliation;
mod requests;
mod resources;
mod results;
mod startup;
mod subhandlers;
mod timers;
mod tips;
mod walkthrough;

pub use startup::run_natively;
