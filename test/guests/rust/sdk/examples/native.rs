//! The same operator as a native program.

#[path = "../src/lib.rs"]
mod operator;

fn main() -> std::process::ExitCode {
    operator::run_natively()
}
