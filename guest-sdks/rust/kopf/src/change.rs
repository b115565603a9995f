//! Handlers of changes.

use crate::context::{arguments, context, object, sleep};
use crate::error::HandlerError;
use crate::events::Events;
use crate::handler::{Handler, Lifecycle, Outcome};
use crate::object::Spec;
use crate::patch::Patch;
use crate::task::Task;
use crate::view::View;
use kopf_abi::tag;
use serde::Deserialize;
use serde_json::Value;
use std::rc::Rc;

context! {
    /// The argument of handlers of creations, updates, deletions, resuming and fields, and
    /// of sub-handlers.
    ///
    /// ```
    /// # use serde::Deserialize;
    /// # use kopf::Change;
    /// #[derive(Deserialize)]
    /// struct Volume {
    ///     size: String,
    /// }
    ///
    /// #[kopf::create("ephemeralvolumeclaims")]
    /// async fn create_fn(c: Change<Volume>) -> kopf::Result<String> {
    ///     kopf::info!(c, "{} of {}", c.name, c.spec.size);
    ///     Ok("done".to_owned())
    /// }
    /// ```
    #[derive(Clone)]
    pub struct Change<S>(task) {
        /// What happened, also for handlers of fields and of resuming: `create`, `update`,
        /// `delete`, `resume`.
        pub reason: String = task.call.reason.clone(),
        /// The last handled state, or the value of the field before; null if there was none.
        pub old: View = View::segment(task, tag::OLD, "old"),
        /// The current state, or the value of the field; null if there is none.
        pub new: View = View::segment(task, tag::NEW, "new"),
        /// Changes of the object.
        pub patch: Patch = task.left.patch.clone(),
        /// Kubernetes events about the object.
        pub events: Events = Events::of(task),
    }
}

arguments!(Change<S>);

/// One difference between old and new.
///
/// See <https://docs.kopf.dev/en/latest/diffs/>
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "(String, Vec<String>, Value, Value)")]
pub struct DiffItem {
    /// `add`, `change`, `remove`.
    pub op: String,
    /// The path of the field.
    pub path: Vec<String>,
    /// Null if it is added.
    pub old: Value,
    /// Null if it is removed.
    pub new: Value,
}

impl From<(String, Vec<String>, Value, Value)> for DiffItem {
    fn from((op, path, old, new): (String, Vec<String>, Value, Value)) -> DiffItem {
        DiffItem { op, path, old, new }
    }
}

/// The differences of an invocation.
pub(crate) fn diff(task: &Rc<Task>) -> Vec<DiffItem> {
    View::segment(task, tag::DIFF, "diff").decode().unwrap_or_default()
}

impl<S: Spec> Change<S> {
    sleep!();
    object!(S);

    /// The differences between old and new.
    pub fn diff(&self) -> Vec<DiffItem> {
        diff(&self.task)
    }

    /// Declares a sub-handler, which runs after this handler has returned without an
    /// error. Each one has its own progress and retries, and is done once for the
    /// change; the change is handled when all of them are:
    ///
    /// ```
    /// # use kopf::Change;
    /// #[kopf::create("kopfexamples")]
    /// async fn create_fn(c: Change) {
    ///     for name in ["a", "b", "c"] {
    ///         c.sub(name, async move |c: Change| kopf::info!(c, "creating {name}"));
    ///     }
    /// }
    /// ```
    ///
    /// The handler itself is called again while sub-handlers are unfinished, and must
    /// declare the same ones each time. For options, see [`declare`](Change::declare).
    pub fn sub<T: Spec, R: Outcome + 'static>(&self, id: impl Into<String>, f: impl AsyncFn(Change<T>) -> R + 'static) {
        self.declare(Handler::sub(id, f));
    }

    /// Declares a sub-handler with options: see [`Handler::sub`].
    pub fn declare(&self, sub: Handler) {
        self.task.left.children.borrow_mut().push(sub);
    }

    /// Chooses the order of the sub-handlers of this handler. By default it is that
    /// of the operator.
    pub fn sub_lifecycle(&self, lifecycle: Lifecycle) {
        self.task.left.lifecycle.set(lifecycle.name());
    }

    /// Runs sub-handlers now. If it fails with [`HandlerError::ChildrenPending`], they are not
    /// all finished; return that, and this handler is called again from its beginning,
    /// later. So what follows is done once:
    ///
    /// ```
    /// # use kopf::{Change, Handler};
    /// # async fn prepare(c: Change) {}
    /// # async fn mount(c: Change) {}
    /// async fn create_fn(c: Change) -> kopf::Result {
    ///     c.execute([Handler::sub("prepare", prepare), Handler::sub("mount", mount).retries(3)]).await?;
    ///     kopf::info!(c, "both are done");
    ///     Ok(())
    /// }
    /// ```
    ///
    /// Sub-handlers that failed for good count as finished.
    pub async fn execute(&self, subs: impl IntoIterator<Item = Handler>) -> Result<(), HandlerError> {
        let subs: Vec<Handler> = subs.into_iter().collect();
        if let Some(problem) = subs.iter().find_map(Handler::problem) {
            return Err(HandlerError::permanent(problem));
        }
        if !subs.is_empty() && self.task.execute(subs).await {
            return Err(HandlerError::ChildrenPending);
        }
        Ok(())
    }

    /// Runs the sub-handlers that were declared so far, as [`execute`](Change::execute) does.
    pub async fn execute_declared(&self) -> Result<(), HandlerError> {
        let subs = self.task.left.children.take();
        self.execute(subs).await
    }
}
