//! The functions of the host, besides those of the development kit.

use extism_pdk::Memory;
use serde_json::Value;

#[link(wasm_import_module = "extism:host/user")]
unsafe extern "C" {
    safe fn kopf_wait(milliseconds: u64) -> u64;
    safe fn kopf_event(event: u64) -> i64;
    safe fn kopf_memo_get(scope: u64, key: u64) -> u64;
    safe fn kopf_memo_set(scope: u64, key: u64, value: u64) -> i64;
    safe fn kopf_index(op: u64, name: u64, key: u64) -> u64;
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn fd_write(fd: u32, parts: *const [usize; 2], count: usize, written: *mut usize) -> u32;
}

/// The memo of the object, and that of the operator.
pub const OBJECT: u64 = 0;
pub const OPERATOR: u64 = 1;

/// Operations of `index`.
pub const VALUES: u64 = 0;
pub const KEYS: u64 = 1;

/// Waits; the stop reasons as bits.
pub fn wait(seconds: f64) -> u64 {
    kopf_wait((seconds * 1000.0) as u64)
}

/// Posts an event about the object.
pub fn event(event: &Value) -> Result<(), String> {
    match kopf_event(block(&event.to_string())) {
        0 => Ok(()),
        code => Err(format!("the event is not posted: {code}")),
    }
}

/// A document of a memo; null if it is not there.
pub fn memo(scope: u64, key: &str) -> Value {
    read(kopf_memo_get(scope, block(key)))
}

/// Stores a document of a memo.
pub fn remember(scope: u64, key: &str, value: &Value) {
    kopf_memo_set(scope, block(key), block(&value.to_string()));
}

/// Asks an index.
pub fn index(op: u64, name: &str, key: &Value) -> Value {
    read(kopf_index(op, block(name), block(&key.to_string())))
}

/// Prints a line to the standard output of the host.
pub fn print(line: &Value) {
    let line = format!("{line}\n");
    let (part, mut written) = ([line.as_ptr() as usize, line.len()], 0);
    // SAFETY: the line, its only part, and the number are alive during the call.
    unsafe { fd_write(1, &part, 1, &mut written) };
}

/// A text in the memory of the host, which is freed with the call.
fn block(text: &str) -> u64 {
    Memory::from_bytes(text).map_or(0, |memory| memory.offset())
}

fn read(offset: u64) -> Value {
    let text = Memory::find(offset).map(|memory| memory.to_vec()).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}
