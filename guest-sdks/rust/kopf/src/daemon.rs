//! Timers, daemons, and background work.

use crate::call::Call;
use crate::error::Error;
use crate::handler::Argument;
use crate::object::{Object, Spec, deref};
use crate::patch::Patch;
use crate::posting::Events;
use crate::task::Task;
use crate::view::View;
use std::rc::Rc;
use std::time::Duration;

/// The argument of timers. It dereferences to [`Object`].
///
/// ```
/// # use kopf::{Timer, json};
/// #[kopf::timer("kopfexamples", interval = 60, idle = 10)]
/// async fn tick(t: Timer) -> kopf::Result<u32> {
///     Ok(t.status["tick"].as_u64().unwrap_or(0) as u32 + 1)
/// }
/// ```
///
/// A temporary error takes the place of the interval.
///
/// See <https://docs.kopf.dev/en/latest/timers/>
#[derive(Clone)]
pub struct Timer<S = View> {
    /// The object.
    pub object: Object<S>,
    /// Changes of the object.
    pub patch: Patch,
    /// Kubernetes events about the object.
    pub events: Events,
}

deref!(Timer<S> => object: Object<S>);

impl<S: Spec> Argument for Timer<S> {
    fn make(task: &Rc<Task>) -> Result<Self, Error> {
        let events = Events::of(task);
        Ok(Timer { object: Object::new(task)?, patch: task.left.patch.clone(), events })
    }
}

/// The argument of daemons, which should end soon after they are told to stop. It
/// dereferences to [`Object`].
///
/// ```
/// # use kopf::Daemon;
/// # use std::time::Duration;
/// #[kopf::daemon("kopfexamples")]
/// async fn watch(mut d: Daemon) -> kopf::Result {
///     while !d.stopped() {
///         kopf::info!(d, "the size is {}", d.spec["size"]);
///         d.wait(Duration::from_secs(10)).await?;
///     }
///     Ok(())
/// }
/// ```
///
/// See <https://docs.kopf.dev/en/latest/daemons/>
pub struct Daemon<S = View> {
    /// The object, as it was at the start or after the latest [`wait`](Daemon::wait).
    pub object: Object<S>,
    /// Changes of the object.
    pub patch: Patch,
    /// Kubernetes events about the object.
    pub events: Events,
}

deref!(Daemon<S> => object: Object<S>);

impl<S: Spec> Argument for Daemon<S> {
    fn make(task: &Rc<Task>) -> Result<Self, Error> {
        let events = Events::of(task);
        Ok(Daemon { object: Object::new(task)?, patch: task.left.patch.clone(), events })
    }
}

impl<S: Spec> Daemon<S> {
    /// Waits until the time is over, or the daemon is told to stop: true if it is. Then
    /// the daemon shows the object as it is.
    ///
    /// Errors: the spec does not fit into its type any more.
    pub async fn wait(&mut self, time: Duration) -> crate::Result<bool> {
        self.task.wait(time, true).await;
        if !self.stopped() {
            self.object.refresh()?;
        }
        Ok(self.stopped())
    }

    /// Waits until the time is over, also after the daemon was told to stop. Then the
    /// daemon shows the object as it is.
    ///
    /// Errors: [`Cancelled`](crate::Cancelled), as of [`Call::sleep`]; the spec does not fit into its type any more.
    pub async fn sleep(&mut self, time: Duration) -> crate::Result<()> {
        self.object.call.sleep(time).await?;
        self.object.refresh()
    }

    /// Whether the daemon is to end.
    pub fn stopped(&self) -> bool {
        self.task.is_stopped()
    }

    /// Why it is to end, as in SPEC.md of the ABI, "Stop reasons"; empty if it is not to.
    pub fn stop_reasons(&self) -> Vec<&'static str> {
        kopf_abi::stop_names(self.task.host.stopped(self.task.id))
    }
}

/// The argument of work that belongs to no object. It ends as a daemon does, and
/// dereferences to [`Call`].
pub struct Background {
    /// What every handler gets.
    pub call: Call,
}

deref!(Background => call: Call);

impl Argument for Background {
    fn make(task: &Rc<Task>) -> Result<Self, Error> {
        Ok(Background { call: Call::new(task) })
    }
}

impl Background {
    /// Waits until the time is over, or the work is told to stop: true if it is.
    pub async fn wait(&self, time: Duration) -> bool {
        self.task.wait(time, true).await;
        self.stopped()
    }

    /// Whether the work is to end.
    pub fn stopped(&self) -> bool {
        self.task.is_stopped()
    }

    /// Why it is to end; empty if it is not to.
    pub fn stop_reasons(&self) -> Vec<&'static str> {
        kopf_abi::stop_names(self.task.host.stopped(self.task.id))
    }
}
