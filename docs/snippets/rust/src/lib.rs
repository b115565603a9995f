//! Rust in the manual.
#![allow(dead_code)]

mod activities;
mod admission;
mod changes;
mod effects;
mod operators;
mod requests;
mod resources;
mod settings;
mod tasks;
mod waits;
mod walkthrough;

pub use operators::run_natively;
