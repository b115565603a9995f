//! What every handler gets.

use crate::error::Cancelled;
use crate::index::Index;
use crate::log::Logger;
use crate::memo::Memo;
use crate::rand::Rng;
use crate::task::Task;
use crate::times;
use kopf_abi::{Errno, scope};
use serde_json::Value;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

/// What every handler gets, whatever it is for: see [`Change::call`](crate::Change::call). Arguments of handlers have the same
/// fields and methods.
///
/// See <https://docs.kopf.dev/en/latest/kwargs/>
#[derive(Clone)]
pub struct Call {
    /// The id of the handler, in full: `fn`, `fn/spec.field`, `parent/child`.
    pub id: String,
    /// As it was registered; null if nothing was.
    pub param: Value,
    /// 0 at the first attempt.
    pub retry: u32,
    /// The time since the first attempt.
    pub runtime: Duration,
    /// The log of the object, or of the operator where there is no object.
    pub log: Logger,
    /// The memo of the object, or of the operator where there is no object.
    pub memo: Memo,

    pub(crate) task: Rc<Task>,
}

impl Call {
    pub(crate) fn new(task: &Rc<Task>) -> Call {
        let call = &task.call;
        let of = if task.body.borrow().is_none() && !call.activity.is_empty() { scope::OPERATOR } else { scope::OBJECT };
        Call {
            id: call.id.clone(),
            param: call.param.clone().unwrap_or_default(),
            retry: call.retry,
            runtime: Duration::try_from_secs_f64(call.runtime).unwrap_or_default(),
            log: Logger(task.clone()),
            memo: Memo { task: task.clone(), scope: of },
            task: task.clone(),
        }
    }

    /// The time of the first attempt; `None` if the host does not say.
    pub fn started(&self) -> Option<SystemTime> {
        times::parse(&self.task.call.started)
    }

    /// Lets time pass, and the host do other work meanwhile. In daemons, it continues
    /// after the host has asked them to stop: see [`Daemon::wait`](crate::Daemon::wait).
    ///
    /// Errors: the handler is cancelled. It may clean up, and is to return then.
    pub async fn sleep(&self, time: Duration) -> Result<(), Cancelled> {
        self.task.wait(time, false).await;
        if self.task.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// An index of the operator, by the id of its handler. One that does not exist looks empty.
    ///
    /// See <https://docs.kopf.dev/en/latest/indexing/>
    pub fn index(&self, id: &str) -> Index {
        Index { task: self.task.clone(), name: id.to_owned() }
    }

    /// The memo that all handlers of the operator share.
    pub fn operator_memo(&self) -> Memo {
        Memo { task: self.task.clone(), scope: scope::OPERATOR }
    }

    /// Random numbers for this call, seeded by the host.
    pub fn rand(&self) -> Rng {
        let mut seed = [0; 8];
        if let Err(errno) = self.task.random(&mut seed) {
            self.log.warn(format_args!("no random numbers from the host: {errno}"));
        }
        Rng::from_seed(u64::from_le_bytes(seed))
    }

    /// Random bytes of the host, fit for secrets.
    pub fn random_bytes<const N: usize>(&self) -> Result<[u8; N], Errno> {
        let mut bytes = [0; N];
        self.task.random(&mut bytes)?;
        Ok(bytes)
    }
}
