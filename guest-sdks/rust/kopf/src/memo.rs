//! Memory between the calls of handlers.

use crate::task::Task;
use kopf_abi::{ANY_VERSION, Errno};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::rc::Rc;

/// Keeps values between the calls of handlers, in the memory of the host: it is
/// gone when the object is deleted or the operator ends. The memo of an object is
/// shared by all its handlers, and starts as a copy of the operator's.
///
/// ```
/// # use kopf::Timer;
/// async fn tick(t: Timer) -> kopf::Result {
///     let ticks = t.memo.update("ticks", |old: Option<u32>| old.unwrap_or(0) + 1)?;
///     kopf::info!(t, "ticked {ticks} times");
///     Ok(())
/// }
/// ```
///
/// See <https://docs.kopf.dev/en/latest/memos/>
#[derive(Clone)]
pub struct Memo {
    pub(crate) task: Rc<Task>,
    pub(crate) scope: u32,
}

impl Memo {
    /// The value of a key; `None` if there is none.
    ///
    /// Errors: it is of another type.
    pub fn get<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, MemoError> {
        Ok(self.versioned(key)?.1)
    }

    fn versioned<T: DeserializeOwned>(&self, key: &str) -> Result<(i64, Option<T>), MemoError> {
        match self.task.host.memo_get(self.task.id, self.scope, key) {
            Ok((version, text)) => {
                let value = serde_json::from_slice(&text).map_err(|err| MemoError::Value(key.to_owned(), err))?;
                Ok((version, Some(value)))
            }
            Err(Errno::ABSENT) => Ok((0, None)),
            Err(errno) => Err(MemoError::Host(key.to_owned(), errno)),
        }
    }

    /// Stores a value. The last write wins: to build on the present value, use
    /// [`update`](Memo::update).
    pub fn set<T: Serialize + ?Sized>(&self, key: &str, value: &T) -> Result<(), MemoError> {
        self.store(key, &encode(key, value)?, ANY_VERSION)
    }

    /// Forgets a key.
    pub fn delete(&self, key: &str) -> Result<(), MemoError> {
        match self.store(key, b"", ANY_VERSION) {
            Err(MemoError::Host(_, Errno::ABSENT)) => Ok(()),
            result => result,
        }
    }

    /// Stores what the function makes of the present value, and returns it. If another task
    /// stores a value meanwhile, `update` calls the function again with that value.
    pub fn update<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        mut change: impl FnMut(Option<T>) -> T,
    ) -> Result<T, MemoError> {
        loop {
            let (version, old) = self.versioned(key)?;
            let new = change(old);
            match self.store(key, &encode(key, &new)?, version) {
                Ok(()) => return Ok(new),
                Err(MemoError::Host(_, Errno::CONFLICT)) => {}
                Err(err) => return Err(err),
            }
        }
    }

    fn store(&self, key: &str, text: &[u8], version: i64) -> Result<(), MemoError> {
        match self.task.host.memo_set(self.task.id, self.scope, key, text, version) {
            Ok(_) => Ok(()),
            Err(errno) => Err(MemoError::Host(key.to_owned(), errno)),
        }
    }
}

fn encode<T: Serialize + ?Sized>(key: &str, value: &T) -> Result<Vec<u8>, MemoError> {
    serde_json::to_vec(value).map_err(|err| MemoError::Value(key.to_owned(), err))
}

/// An error of a memo, with its key.
#[derive(Debug)]
pub enum MemoError {
    /// The value is not of the type.
    Value(String, serde_json::Error),
    /// The host refuses: the value is too large, for example.
    Host(String, Errno),
}

impl fmt::Display for MemoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoError::Value(key, err) => write!(f, "memo {key}: {err}"),
            MemoError::Host(key, err) => write!(f, "memo {key}: {err}"),
        }
    }
}

impl std::error::Error for MemoError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            MemoError::Value(_, err) => Some(err),
            MemoError::Host(_, err) => Some(err),
        }
    }
}
