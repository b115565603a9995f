//! The log of an object.

use crate::task::Task;
use std::fmt::Display;
use std::rc::Rc;

/// Levels of log messages: those of Python, as in the settings of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For debugging.
    Debug = 10,
    /// As usual.
    Info = 20,
    /// Something is odd.
    Warning = 30,
    /// Something went wrong.
    Error = 40,
    /// The administrator has to act.
    Critical = 50,
}

/// Writes to the log of the handled object. The macros [`debug!`](crate::debug),
/// [`info!`](crate::info), [`warn!`](crate::warn) and [`error!`](crate::error) format
/// as `println!` does:
///
/// ```
/// # use kopf::Change;
/// async fn create_fn(c: Change) {
///     kopf::info!(c, "a new object with the field {}", c.spec["field"]);
///     c.log.warn("the same without a format");
/// }
/// ```
#[derive(Clone)]
pub struct Logger(pub(crate) Rc<Task>);

impl Logger {
    /// Logs a message for debugging.
    pub fn debug(&self, message: impl Display) {
        self.log(Level::Debug, message);
    }

    /// Logs a message.
    pub fn info(&self, message: impl Display) {
        self.log(Level::Info, message);
    }

    /// Logs a warning.
    pub fn warn(&self, message: impl Display) {
        self.log(Level::Warning, message);
    }

    /// Logs an error.
    pub fn error(&self, message: impl Display) {
        self.log(Level::Error, message);
    }

    /// Logs a message of any level.
    pub fn log(&self, level: Level, message: impl Display) {
        self.0.host.log(self.0.id, level as u32, &message.to_string());
    }
}

/// Logs a message for debugging: `kopf::debug!(c, "format {}", args)`.
#[macro_export]
macro_rules! debug {
    ($c:expr, $($message:tt)+) => { $c.log.debug(::core::format_args!($($message)+)) };
}

/// Logs a message: `kopf::info!(c, "format {}", args)`.
#[macro_export]
macro_rules! info {
    ($c:expr, $($message:tt)+) => { $c.log.info(::core::format_args!($($message)+)) };
}

/// Logs a warning: `kopf::warn!(c, "format {}", args)`.
#[macro_export]
macro_rules! warn {
    ($c:expr, $($message:tt)+) => { $c.log.warn(::core::format_args!($($message)+)) };
}

/// Logs an error: `kopf::error!(c, "format {}", args)`.
#[macro_export]
macro_rules! error {
    ($c:expr, $($message:tt)+) => { $c.log.error(::core::format_args!($($message)+)) };
}

/// Prints a line to the standard output of the host. Without WASI, `std::println!`
/// prints nothing.
#[macro_export]
macro_rules! println {
    ($($line:tt)*) => { $crate::print_line(&::std::format!($($line)*)) };
}

/// What [`println!`](crate::println) calls.
pub fn print_line(line: &str) {
    #[cfg(target_family = "wasm")]
    kopf_abi::print_line(line);
    #[cfg(not(target_family = "wasm"))]
    std::println!("{line}");
}
