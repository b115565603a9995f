//! The border of a module: what is imported, and how data is passed. All that is
//! unsafe is here. See SPEC.md, "Passing data".

use crate::host::{Errno, Host};
use std::alloc::Layout;
use std::cell::RefCell;

#[link(wasm_import_module = "kopf")]
unsafe extern "C" {
    safe fn log(task: u32, level: u32, ptr: *const u8, len: usize);
    safe fn segment(task: u32, tag: u32, ptr: *mut u8, cap: usize) -> i64;
    safe fn stopped(task: u32) -> u32;
    safe fn config(key: *const u8, key_len: usize, ptr: *mut u8, cap: usize) -> i64;
    safe fn random(ptr: *mut u8, len: usize) -> i32;
    safe fn event(task: u32, ptr: *const u8, len: usize) -> i32;
    safe fn memo_get(task: u32, scope: u32, key: *const u8, key_len: usize, ptr: *mut u8, cap: usize) -> i64;
    safe fn memo_set(
        task: u32,
        scope: u32,
        key: *const u8,
        key_len: usize,
        ptr: *const u8,
        len: usize,
        version: i64,
    ) -> i64;
    safe fn index(
        task: u32,
        op: u32,
        name: *const u8,
        name_len: usize,
        key: *const u8,
        key_len: usize,
        ptr: *mut u8,
        cap: usize,
    ) -> i64;
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    safe fn fd_write(fd: u32, vectors: *const [usize; 2], count: usize, written: *mut usize) -> u32;
}

/// The host of a module. The host checks all addresses that it is given, and
/// writes nothing beyond the capacity; so the imports are safe to call.
pub struct Wasm;

/// The size that most answers have at most: larger ones are asked for twice.
const USUAL: usize = 1024;

/// Calls a function that writes into a buffer, with a larger one if need be.
fn filled(call: impl Fn(*mut u8, usize) -> i64) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; USUAL];
    loop {
        let len = call(buffer.as_mut_ptr(), buffer.len());
        if len < 0 {
            return Err(Errno(len));
        }
        let fits = len as usize <= buffer.len();
        buffer.resize(len as usize, 0);
        if fits {
            return Ok(buffer);
        }
    }
}

fn checked(result: i64) -> Result<i64, Errno> {
    if result < 0 { Err(Errno(result)) } else { Ok(result) }
}

impl Host for Wasm {
    fn log(&self, task: u32, level: u32, text: &str) {
        log(task, level, text.as_ptr(), text.len());
    }

    fn segment(&self, task: u32, tag: u32) -> Result<Vec<u8>, Errno> {
        filled(|ptr, cap| segment(task, tag, ptr, cap))
    }

    fn stopped(&self, task: u32) -> u32 {
        stopped(task)
    }

    fn config(&self, key: &str) -> Result<Vec<u8>, Errno> {
        filled(|ptr, cap| config(key.as_ptr(), key.len(), ptr, cap))
    }

    fn random(&self, buffer: &mut [u8]) -> Result<(), Errno> {
        checked(random(buffer.as_mut_ptr(), buffer.len()).into()).map(drop)
    }

    fn event(&self, task: u32, text: &[u8]) -> Result<(), Errno> {
        checked(event(task, text.as_ptr(), text.len()).into()).map(drop)
    }

    fn memo_get(&self, task: u32, scope: u32, key: &str) -> Result<(i64, Vec<u8>), Errno> {
        let mut found = filled(|ptr, cap| memo_get(task, scope, key.as_ptr(), key.len(), ptr, cap))?;
        let version = *found.first_chunk().ok_or(Errno::INVALID)?;
        found.drain(..version.len());
        Ok((i64::from_le_bytes(version), found))
    }

    fn memo_set(&self, task: u32, scope: u32, key: &str, value: &[u8], version: i64) -> Result<i64, Errno> {
        checked(memo_set(task, scope, key.as_ptr(), key.len(), value.as_ptr(), value.len(), version))
    }

    fn index(&self, task: u32, op: u32, name: &str, key: &[u8]) -> Result<Vec<u8>, Errno> {
        filled(|ptr, cap| index(task, op, name.as_ptr(), name.len(), key.as_ptr(), key.len(), ptr, cap))
    }
}

/// Writes a line to the standard output of the host, in one write. It is there on
/// targets without WASI too, whose own `println!` goes nowhere.
pub fn print_line(line: &str) {
    let line = format!("{line}\n");
    let mut written = 0;
    fd_write(1, &[line.as_ptr() as usize, line.len()], 1, &mut written);
}

/// Memory for a message of the host; null if there is none left.
pub fn alloc(size: usize) -> *mut u8 {
    match layout(size) {
        // SAFETY: the size of the layout is not zero.
        Some(layout) => unsafe { std::alloc::alloc(layout) },
        None => std::ptr::null_mut(),
    }
}

/// Messages of no bytes get an address, too: null would mean that there is no memory.
fn layout(size: usize) -> Option<Layout> {
    Layout::array::<u8>(size.max(1)).ok()
}

/// Takes over the memory of a message.
///
/// # Safety
///
/// `ptr` was made by [`alloc`] with the size `len`, and is taken only once.
pub unsafe fn take(ptr: *mut u8, len: usize) -> Vec<u8> {
    // SAFETY: the caller promises that `alloc` made it, with this size and alignment.
    unsafe { Vec::from_raw_parts(ptr, len, len.max(1)) }
}

/// The address and the length of an answer to the host. It stays where it is until
/// the next one.
pub fn answer(text: Vec<u8>) -> u64 {
    thread_local! {
        static LATEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    let place = (text.as_ptr() as u64) << 32 | text.len() as u64;
    LATEST.replace(text);
    place
}
