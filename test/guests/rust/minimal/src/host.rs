//! The host functions. See SPEC.md, "Host functions".

use std::cell::Cell;

const INFO: i32 = 20;
const CRITICAL: i32 = 50;

#[link(wasm_import_module = "kopf")]
extern "C" {
    fn log(task: u32, level: i32, ptr: *const u8, len: usize);
}

thread_local! {
    /// The task whose call is running; 0 outside of tasks.
    static TASK: Cell<u32> = const { Cell::new(0) };
}

/// Remembers the running task, which the host functions want to know.
pub fn running(task: u32) {
    TASK.set(task);
}

/// Writes a line to the log of the object.
pub fn info(message: &str) {
    write(INFO, message);
}

/// Tells the host what a panic said: its trap alone would not. The last line of the
/// critical level becomes the message of the error.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let message = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("a panic without a message");
        write(CRITICAL, message);
    }));
}

fn write(level: i32, message: &str) {
    // SAFETY: the address and the length are those of a living string.
    unsafe { log(TASK.get(), level, message.as_ptr(), message.len()) }
}
