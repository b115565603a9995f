//! An operator as a native program.

// [native]

#[path = "../src/lib.rs"]
mod operator;

fn main() -> std::process::ExitCode {
    operator::run_natively()
}

// [/native]
