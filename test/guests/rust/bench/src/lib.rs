//! The Rust guest of the benchmarks: two handlers that copy one field of the spec
//! to the status. It has no SDK; its messages are those of abi/SPEC.md.

mod border;
mod frame;
mod handlers;
