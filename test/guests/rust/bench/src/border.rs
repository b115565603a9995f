//! The exports. See SPEC.md, "Exports" and "Passing data".

use crate::handlers;
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
    answer(&handlers::register(&unsafe { take(ptr, len) }))
}

/// The only step of a task.
///
/// # Safety
///
/// As for [`kopf_register`].
#[no_mangle]
pub unsafe extern "C" fn kopf_start(_task: u32, ptr: *mut u8, len: usize) -> u64 {
    // SAFETY: as promised by the caller.
    answer(&handlers::start(&unsafe { take(ptr, len) }))
}

/// The next step of a task that waited: no task of this guest does.
///
/// # Safety
///
/// As for [`kopf_register`].
#[no_mangle]
pub unsafe extern "C" fn kopf_resume(_task: u32, ptr: *mut u8, len: usize) -> u64 {
    // SAFETY: as promised by the caller.
    drop(unsafe { take(ptr, len) });
    answer(&handlers::failed("no task waits"))
}

/// Tells a task to end: here it has ended already.
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
        buffer.clear();
        if serde_json::to_writer(&mut *buffer, message).is_err() {
            buffer.clear(); // no message is against the contract: the host says so
        }
        (buffer.as_ptr() as u64) << 32 | buffer.len() as u64
    })
}
