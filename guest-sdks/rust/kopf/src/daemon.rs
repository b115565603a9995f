//! Timers, daemons, and background work.

use crate::context::{arguments, context, object, sleep};
use crate::events::Events;
use crate::object::{Spec, decode, undecoded};
use crate::patch::Patch;
use crate::view::View;
use kopf_abi::tag;
use std::time::Duration;

context! {
    /// The argument of timers.
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
    pub struct Timer<S>(task) {
        /// Changes of the object.
        pub patch: Patch = task.left.patch.clone(),
        /// Kubernetes events about the object.
        pub events: Events = Events::of(task),
    }
}

context! {
    /// The argument of daemons, which should end soon after the host asks them to stop.
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
    /// The fields show the object as it was at the start or after the latest [`wait`](Daemon::wait).
    ///
    /// See <https://docs.kopf.dev/en/latest/daemons/>
    pub struct Daemon<S>(task) {
        /// Changes of the object.
        pub patch: Patch = task.left.patch.clone(),
        /// Kubernetes events about the object.
        pub events: Events = Events::of(task),
    }
}

context! {
    /// The argument of work that belongs to no object. It ends as a daemon does.
    pub struct Background(task) {}
}

arguments!(Timer<S>, Daemon<S>, Background);

impl<S: Spec> Timer<S> {
    sleep!();
    object!(S);
}

impl<S: Spec> Daemon<S> {
    object!(S);

    /// Waits until the time is over, or the host asks the daemon to stop: then it returns true.
    /// Afterwards the daemon shows the current object.
    ///
    /// Errors: the spec does not fit into its type any more.
    pub async fn wait(&mut self, time: Duration) -> crate::Result<bool> {
        self.forget();
        self.task.wait(time, true).await;
        let stopped = self.stopped();
        if !stopped {
            self.spec = decode(self.body.member("spec"))?;
        }
        Ok(stopped)
    }

    /// Waits until the time is over, also after the host has asked the daemon to stop.
    /// Afterwards the daemon shows the current object.
    ///
    /// Errors: [`Cancelled`](crate::Cancelled), as of [`Call::sleep`]; the spec does not fit into its type any more.
    pub async fn sleep(&mut self, time: Duration) -> crate::Result<()> {
        self.forget();
        self.call().sleep(time).await?;
        self.spec = decode(self.body.member("spec"))?;
        Ok(())
    }

    /// Whether the daemon is to end.
    pub fn stopped(&self) -> bool {
        self.task.is_stopped()
    }

    /// Why it is to end, as in SPEC.md of the ABI, "Stop reasons"; empty if it is not to.
    pub fn stop_reasons(&self) -> Vec<&'static str> {
        kopf_abi::stop_names(self.task.host.stopped(self.task.id))
    }

    /// Drops the object before a wait, because a thousand daemons may share a memory. The views show the newest one when
    /// they are next read. A spec of a type of the user stays until it is decoded again.
    fn forget(&mut self) {
        self.task.body.take();
        self.body = View::segment(&self.task, tag::FRESH, "");
        self.meta = self.body.member("metadata");
        self.status = self.body.member("status");
        self.labels = self.meta.member("labels");
        self.annotations = self.meta.member("annotations");
        if let Some(spec) = undecoded(self.body.member("spec")) {
            self.spec = spec;
        }
    }
}

impl Background {
    sleep!();

    /// Waits until the time is over, or the host asks the work to stop: then it returns true.
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
