//! What the macros need. It is not for use by hand, and may change.

use crate::handler::Handler;
use crate::operator::Operator;

/// A function with attributes of this crate: it declares itself.
pub trait Declare {
    /// Adds the handlers of the function.
    fn declare(operator: &mut Operator);
}

/// The arguments of the kinds of handlers, for errors of the compiler.
macro_rules! arguments {
    ($($name:ident: $argument:ident, $message:literal;)*) => {$(
        #[doc = $message]
        #[diagnostic::on_unimplemented(message = $message, label = "another kind of argument")]
        pub trait $name {}
        impl<S> $name for crate::$argument<S> {}
    )*};
}

arguments! {
    ChangeArgument: Change, "handlers of changes get `kopf::Change`";
    EventArgument: Event, "handlers of events get `kopf::Event`";
    TimerArgument: Timer, "timers get `kopf::Timer`";
    DaemonArgument: Daemon, "daemons get `kopf::Daemon`";
    IndexedArgument: Indexed, "index handlers get `kopf::Indexed`";
    ReviewArgument: Review, "admission handlers get `kopf::Review`";
}

/// Handlers for the whole operator get `kopf::Activity`.
#[diagnostic::on_unimplemented(
    message = "handlers for the whole operator get `kopf::Activity`",
    label = "another kind of argument"
)]
pub trait ActivityArgument {}
impl ActivityArgument for crate::Activity {}

/// Handlers of conversions get `kopf::Conversion`.
#[diagnostic::on_unimplemented(
    message = "handlers of conversions get `kopf::Conversion`",
    label = "another kind of argument"
)]
pub trait ConversionArgument {}
impl ConversionArgument for crate::Conversion {}

/// Background work gets `kopf::Background`.
#[diagnostic::on_unimplemented(message = "background work gets `kopf::Background`", label = "another kind of argument")]
pub trait BackgroundArgument {}
impl BackgroundArgument for crate::Background {}

/// Names a handler after its function.
pub fn named(handler: Handler, name: &str, path: &str) -> Handler {
    handler.id(name).identity(path)
}

#[cfg(target_family = "wasm")]
pub use exports::*;

/// Runs an operator natively. In a module it does nothing: the host calls the handlers.
pub fn run_natively(declare: fn(&mut Operator)) -> std::process::ExitCode {
    #[cfg(not(target_family = "wasm"))]
    return crate::native::main(declare);
    #[cfg(target_family = "wasm")]
    {
        let _ = declare;
        std::process::ExitCode::SUCCESS
    }
}

#[cfg(target_family = "wasm")]
mod exports {
    use crate::log::Level;
    use crate::module::Module;
    use crate::operator::{Operator, default_host};
    use kopf_abi::{Host, Wasm, answer, take};
    use std::cell::{Cell, RefCell};

    pub use kopf_abi::alloc;

    thread_local! {
        static MODULE: RefCell<Option<Module>> = const { RefCell::new(None) };
        /// The running task, for panics.
        static TASK: Cell<u32> = const { Cell::new(0) };
    }

    /// Registers what the operator declares.
    ///
    /// # Safety
    ///
    /// As for [`take`].
    pub unsafe fn register(ptr: *mut u8, len: usize, declare: fn(&mut Operator)) -> u64 {
        // SAFETY: promised by the caller.
        let request = unsafe { take(ptr, len) };
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(|at| format!(" ({}:{}:{})", at.file(), at.line(), at.column()));
            let payload = panic.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let message = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            let message = message.unwrap_or("a panic without a message");
            Wasm.log(TASK.get(), Level::Critical as u32, &format!("panicked: {message}{}", place.unwrap_or_default()));
        }));
        let mut operator = Operator::new();
        declare(&mut operator);
        let mut module = Module::new(operator, default_host());
        let registration = module.register(&request);
        MODULE.set(Some(module));
        answer(registration)
    }

    fn with(task: u32, call: impl FnOnce(&mut Module) -> Vec<u8>) -> u64 {
        TASK.set(task);
        answer(MODULE.with_borrow_mut(|module| module.as_mut().map(call).unwrap_or_default()))
    }

    macro_rules! calls {
        ($($name:ident),*) => {$(
            /// Hands a message to the module.
            ///
            /// # Safety
            ///
            /// As for [`take`].
            pub unsafe fn $name(task: u32, ptr: *mut u8, len: usize) -> u64 {
                // SAFETY: promised by the caller.
                let message = unsafe { take(ptr, len) };
                with(task, |module| module.$name(task, message))
            }
        )*};
    }

    calls!(start, resume, ask, transform);

    /// Cancels a task.
    pub fn cancel(task: u32) {
        MODULE.with_borrow_mut(|module| module.iter_mut().for_each(|module| module.cancel(task)));
    }

    /// Forgets a task.
    pub fn release(task: u32) {
        MODULE.with_borrow_mut(|module| module.iter_mut().for_each(|module| module.release(task)));
    }
}

/// Makes a module of handlers. The order is that in which they are called, where several are
/// for one cause:
///
/// ```no_run
/// # use kopf::{Activity, Change};
/// #[kopf::startup]
/// fn configure(a: Activity) {}
/// #[kopf::create("kopfexamples")]
/// async fn create_fn(c: Change) {}
///
/// kopf::operator!(configure, create_fn);
/// # fn main() {}
/// ```
///
/// With more to say, or with handlers that depend on the configuration:
///
/// ```no_run
/// # use kopf::{Capabilities, Change, Handler, Lifecycle, Operator};
/// # #[kopf::create("kopfexamples")]
/// # async fn create_fn(c: Change) {}
/// fn setup(operator: &mut Operator) -> kopf::Result {
///     if kopf::config("greeting").is_some() {
///         operator.add(Handler::update("kopfexamples", async |c: Change| {}).id("greet"));
///     }
///     Ok(())
/// }
///
/// kopf::operator! {
///     name: "demo",
///     version: "1.0",
///     lifecycle: Lifecycle::OneByOne,
///     want: Capabilities::new().kubernetes(&[""], &["pods"], &["list"]),
///     setup: setup,
///     handlers: [create_fn],
/// }
/// # fn main() {}
/// ```
///
/// It makes a function, too, that runs the operator natively, for breakpoints and profilers. With this
/// in `examples/native.rs`, `cargo run --example native -- -n default` does as `kopf run
/// operator.wasm -n default`:
///
/// ```
/// # /*
/// #[path = "../src/lib.rs"]
/// mod operator;
/// # */
/// # mod operator {
/// #     pub fn run_natively() -> std::process::ExitCode {
/// #         std::process::ExitCode::SUCCESS
/// #     }
/// # }
///
/// fn main() -> std::process::ExitCode {
///     operator::run_natively()
/// }
/// ```
///
/// The program starts kopf, that on the `PATH` or of the variable `KOPF`, and ends with it and its exit
/// code. Handlers run in this process, without a sandbox and without limits: one that computes or
/// blocks makes the others wait. A panic fails the attempt.
#[macro_export]
macro_rules! operator {
    (
        $(name: $name:expr,)?
        $(version: $version:expr,)?
        $(lifecycle: $lifecycle:expr,)?
        $(want: $want:expr,)?
        $(setup: $setup:expr,)?
        handlers: [$($handler:path),* $(,)?] $(,)?
    ) => {
        /// Runs the operator natively, with the arguments of `kopf run`, and returns its exit code.
        #[allow(dead_code)]
        pub fn run_natively() -> ::std::process::ExitCode {
            $crate::__private::run_natively(__declare)
        }

        #[allow(dead_code)]
        fn __declare(operator: &mut $crate::Operator) {
            $(operator.name($name);)?
            $(operator.version($version);)?
            $(operator.lifecycle($lifecycle);)?
            $(operator.want($want);)?
            $(<$handler as $crate::__private::Declare>::declare(operator);)*
            $(operator.setup($setup);)?
        }

        const _: () = {
            $crate::__exports!(__declare);
        };
    };
    ($($handler:path),+ $(,)?) => { $crate::operator! { handlers: [$($handler),+] } };
}

/// The exports of a module. See SPEC.md of the ABI, "Exports".
#[doc(hidden)]
#[macro_export]
macro_rules! __exports {
    ($declare:ident) => {
        #[cfg(target_family = "wasm")]
        #[unsafe(no_mangle)]
        extern "C" fn kopf_abi_v1() {}

        #[cfg(target_family = "wasm")]
        #[unsafe(no_mangle)]
        extern "C" fn kopf_alloc(size: usize) -> *mut u8 {
            $crate::__private::alloc(size)
        }

        #[cfg(target_family = "wasm")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn kopf_register(ptr: *mut u8, len: usize) -> u64 {
            // SAFETY: the host passes what it got of kopf_alloc, once.
            unsafe { $crate::__private::register(ptr, len, $declare) }
        }

        $crate::__exports! { task kopf_start: start }
        $crate::__exports! { task kopf_resume: resume }
        $crate::__exports! { task kopf_ask: ask }
        $crate::__exports! { task kopf_transform: transform }

        #[cfg(target_family = "wasm")]
        #[unsafe(no_mangle)]
        extern "C" fn kopf_cancel(task: u32) {
            $crate::__private::cancel(task)
        }

        #[cfg(target_family = "wasm")]
        #[unsafe(no_mangle)]
        extern "C" fn kopf_release(task: u32) {
            $crate::__private::release(task)
        }
    };
    (task $export:ident: $call:ident) => {
        #[cfg(target_family = "wasm")]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $export(task: u32, ptr: *mut u8, len: usize) -> u64 {
            // SAFETY: the host passes what it got of kopf_alloc, once.
            unsafe { $crate::__private::$call(task, ptr, len) }
        }
    };
}
