//! The functions of the host, as the library knows them: the global object `host`,
//! which the library takes away from scripts.

use kopf_abi::{ANY_VERSION, Errno, Host, Wasm, print_line};
use rquickjs::function::Func;
use rquickjs::{Ctx, Object, Result};

/// Defines the object.
pub fn define(ctx: &Ctx) -> Result<()> {
    let host = Object::new(ctx.clone())?;
    host.set("log", Func::from(|task: u32, level: u32, text: String| Wasm.log(task, level, &text)))?;
    host.set("print", Func::from(|line: String| print_line(&line)))?;
    host.set("segment", Func::from(|task: u32, tag: u32| found(Wasm.segment(task, tag))))?;
    host.set("stopped", Func::from(|task: u32| Wasm.stopped(task)))?;
    host.set("config", Func::from(|key: String| found(Wasm.config(&key))))?;
    host.set("random", Func::from(random))?;
    host.set("event", Func::from(|task: u32, event: String| problem(Wasm.event(task, event.as_bytes()))))?;
    host.set("memoGet", Func::from(memo_get))?;
    host.set("memoSet", Func::from(memo_set))?;
    host.set(
        "index",
        Func::from(|task: u32, op: u32, name: String, key: String| found(Wasm.index(task, op, &name, key.as_bytes()))),
    )?;
    ctx.globals().set("host", host)
}

/// A text of the host, if there is such.
fn found(answered: std::result::Result<Vec<u8>, Errno>) -> Option<String> {
    answered.ok().map(|text| String::from_utf8_lossy(&text).into_owned())
}

/// What is wrong; nothing if all is well.
fn problem(answered: std::result::Result<(), Errno>) -> Option<String> {
    answered.err().map(|error| error.to_string())
}

/// A number from 0 to 1.
fn random() -> f64 {
    let mut bytes = [0; 8];
    match Wasm.random(&mut bytes) {
        Ok(()) => (u64::from_le_bytes(bytes) >> 11) as f64 / (1u64 << 53) as f64,
        Err(_) => 0.5, // at the registration, which is to be the same everywhere
    }
}

/// A value of a memo, after its version and a space.
fn memo_get(task: u32, scope: u32, key: String) -> Option<String> {
    let (version, value) = Wasm.memo_get(task, scope, &key).ok()?;
    Some(format!("{version} {}", String::from_utf8_lossy(&value)))
}

/// Stores a value of a memo, if it has the version; −1: whatever it has. Whether it
/// was in time, and what is wrong otherwise.
fn memo_set(
    task: u32,
    scope: u32,
    key: String,
    value: String,
    version: f64,
) -> std::result::Result<bool, rquickjs::Error> {
    let version = if version < 0.0 { ANY_VERSION } else { version as i64 };
    match Wasm.memo_set(task, scope, &key, value.as_bytes(), version) {
        Ok(_) => Ok(true),
        Err(Errno::CONFLICT) => Ok(false),
        Err(error) => Err(rquickjs::Error::new_into_js_message("value", "memo", error.to_string())),
    }
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn clock_time_get(clock: u32, precision: u64, time: *mut u64) -> u32;
}

/// The clock of QuickJS, in microseconds: that of the host, which stands still in a step.
#[unsafe(no_mangle)]
extern "C" fn __rquickjs_host_now_us() -> f64 {
    let mut nanoseconds = 0;
    // SAFETY: the number is alive during the call.
    unsafe { clock_time_get(0, 1, &mut nanoseconds) };
    (nanoseconds / 1000) as f64
}
