//! Rust in the manual.
#![allow(dead_code)]

mod activities;
mod admission;
mod changes;
mod effects;
mod operators;
mod requests;
mod tasks;

pub use operators::run_natively;
