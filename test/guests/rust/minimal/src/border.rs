//! The exports. See SPEC.md, "Exports" and "Passing data".

use crate::{handlers, host, tasks};
use serde_json::Value;
use std::alloc::Layout;
use std::cell::RefCell;

thread_local! {
    /// The latest answer: it must stay where it is until the next call.
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The version marker: it is never called.
#[no_mangle]
pub extern "C" fn kopf_abi_v1() {}

/// Called once, before all others.
#[no_mangle]
pub extern "C" fn _initialize() {
    host::report_panics();
}

/// Memory for a message of the host.
#[no_mangle]
pub extern "C" fn kopf_alloc(size: usize) -> *mut u8 {
    match layout(size) {
        // SAFETY: the size of the layout is not zero.
        Some(layout) => unsafe { std::alloc::alloc(layout) },
        None => std::ptr::null_mut(),
    }
}

/// The registration.
///
/// # Safety
///
/// `ptr` and `len` are those of a message that the host put into `kopf_alloc`'s memory.
#[no_mangle]
pub unsafe extern "C" fn kopf_register(ptr: *mut u8, len: usize) -> u64 {
    // SAFETY: as promised by the caller.
    let message = unsafe { take(ptr, len) };
    answer(&match serde_json::from_slice::<Value>(&message) {
        Ok(request) => handlers::register(&request),
        Err(err) => serde_json::json!({ "error": format!("the request of kopf_register: {err}") }),
    })
}

/// The first step of a task.
///
/// # Safety
///
/// As for [`kopf_register`].
#[no_mangle]
pub unsafe extern "C" fn kopf_start(task: u32, ptr: *mut u8, len: usize) -> u64 {
    // SAFETY: as promised by the caller.
    let message = unsafe { take(ptr, len) };
    host::running(task);
    answer(&tasks::start(task, &message))
}

/// The next step of a task that waited.
///
/// # Safety
///
/// As for [`kopf_register`].
#[no_mangle]
pub unsafe extern "C" fn kopf_resume(task: u32, ptr: *mut u8, len: usize) -> u64 {
    // SAFETY: as promised by the caller.
    let message = unsafe { take(ptr, len) };
    host::running(task);
    answer(&tasks::resume(task, &message))
}

/// Tells a task to end: the host says so again when it resumes the task.
#[no_mangle]
pub extern "C" fn kopf_cancel(_task: u32) {}

/// Messages of no bytes get an address, too: 0 would mean that there is no memory.
fn layout(size: usize) -> Option<Layout> {
    Layout::array::<u8>(size.max(1)).ok()
}

/// Takes over the memory of a message.
///
/// # Safety
///
/// As for [`kopf_register`]; and the message is taken only once.
unsafe fn take(ptr: *mut u8, len: usize) -> Vec<u8> {
    // SAFETY: `kopf_alloc` made it with this size and alignment.
    unsafe { Vec::from_raw_parts(ptr, len, len.max(1)) }
}

fn answer(message: &Value) -> u64 {
    ANSWER.with_borrow_mut(|buffer| {
        *buffer = message.to_string().into_bytes();
        (buffer.as_ptr() as u64) << 32 | buffer.len() as u64
    })
}
