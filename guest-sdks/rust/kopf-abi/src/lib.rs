//! The contract between the host and its guests, as `abi/SPEC.md` defines it: the
//! messages, the frames, and the functions of the host. Operators are written
//! against the crate `kopf`.

mod call;
#[cfg(target_family = "wasm")]
mod ffi;
mod frame;
mod host;
mod invocation;
mod message;
#[cfg(not(target_family = "wasm"))]
pub mod native;
mod numbers;
mod reader;
mod registration;
mod step;

pub use call::{BASE64, Call, Headers, Response, from_base64, target, to_base64};
#[cfg(target_family = "wasm")]
pub use ffi::{Wasm, alloc, answer, print_line, take};
pub use frame::{find_segment, place_of_segment, push_segment, tag};
pub use host::{ANY_VERSION, Errno, Host, Noone, index, scope};
pub use invocation::{
    Admission, Answers, Callback, Conversion, Invocation, Question, Questions, RegisterRequest, Resource, Value,
    Verdict,
};
pub use message::{Field, json};
pub use numbers::keep_numbers;
pub use reader::{Reader, unquoted};
pub use registration::{Capabilities, Handler, KubernetesRule, OperatorInfo, Registration};
pub use step::{Answer, Delay, Error, ErrorKind, Event, Step, TransformResult};

/// Reads a message.
///
/// Errors: it is not JSON.
pub fn read<T: Field>(text: &[u8]) -> Result<T, serde_json::Error> {
    let mut reader = Reader::new(text);
    let message = T::read(&mut reader);
    if reader.peek() != 0 || reader.is_broken() {
        json(text)?; // it says what is wrong
    }
    Ok(message)
}

/// Writes a message.
pub fn write(message: impl Field) -> Vec<u8> {
    let mut text = Vec::with_capacity(128);
    message.write(&mut text);
    text
}

/// The version of the contract.
pub const VERSION: u32 = 1;

/// The names of the stop reasons in a set of bits.
pub fn stop_names(bits: u32) -> Vec<&'static str> {
    const NAMES: [&str; 8] = [
        "done",
        "filters_mismatch",
        "resource_deleted",
        "operator_pausing",
        "operator_exiting",
        "daemon_signalled",
        "daemon_cancelled",
        "daemon_abandoned",
    ];
    NAMES.iter().enumerate().filter(|(bit, _)| bits & (1 << bit) != 0).map(|(_, name)| *name).collect()
}
