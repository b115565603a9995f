//! The exports of the module. See SPEC.md, "Exports".

use crate::engine::Engine;
use std::cell::OnceCell;

thread_local! {
    static ENGINE: OnceCell<Engine> = const { OnceCell::new() };
}

fn with<R>(use_it: impl FnOnce(&Engine) -> R) -> R {
    ENGINE.with(|engine| use_it(engine.get_or_init(Engine::new)))
}

#[unsafe(no_mangle)]
extern "C" fn kopf_abi_v1() {}

#[unsafe(no_mangle)]
extern "C" fn kopf_alloc(size: usize) -> *mut u8 {
    kopf_abi::alloc(size)
}

/// Takes over a message.
///
/// # Safety
///
/// The host passes what it got of kopf_alloc, once.
unsafe fn taken(ptr: *mut u8, len: usize) -> Vec<u8> {
    // SAFETY: the caller's.
    unsafe { kopf_abi::take(ptr, len) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn kopf_register(ptr: *mut u8, len: usize) -> u64 {
    // SAFETY: the host's promise.
    let request = unsafe { taken(ptr, len) };
    with(|engine| engine.register(&request))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn kopf_start(task: u32, ptr: *mut u8, len: usize) -> u64 {
    // SAFETY: the host's promise.
    let frame = unsafe { taken(ptr, len) };
    with(|engine| engine.advance(task, "start", &frame))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn kopf_resume(task: u32, ptr: *mut u8, len: usize) -> u64 {
    // SAFETY: the host's promise.
    let answer = unsafe { taken(ptr, len) };
    with(|engine| engine.advance(task, "resume", &answer))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn kopf_ask(task: u32, ptr: *mut u8, len: usize) -> u64 {
    // SAFETY: the host's promise.
    let frame = unsafe { taken(ptr, len) };
    with(|engine| engine.questions(task, &frame))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn kopf_transform(task: u32, ptr: *mut u8, len: usize) -> u64 {
    // SAFETY: the host's promise.
    let body = unsafe { taken(ptr, len) };
    with(|engine| engine.transform(task, &body))
}

/// The answer to the wait says that the task is cancelled.
#[unsafe(no_mangle)]
extern "C" fn kopf_cancel(_task: u32) {}

#[unsafe(no_mangle)]
extern "C" fn kopf_release(task: u32) {
    with(|engine| engine.release(task));
}
