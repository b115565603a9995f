//! Handlers of watch events.

use crate::context::{arguments, context, object, sleep};
use crate::events::Events;
use crate::object::Spec;
use crate::patch::Patch;
use crate::view::View;
use kopf_abi::tag;

context! {
    /// The argument of handlers of events.
    ///
    /// ```
    /// # use kopf::Event;
    /// #[kopf::event("", "v1", "pods")]
    /// async fn spy(e: Event) {
    ///     kopf::info!(e, "{:?} {}", e.event_type, e.name);
    /// }
    /// ```
    #[derive(Clone)]
    pub struct Event<S>(task) {
        /// `ADDED`, `MODIFIED`, `DELETED`; `None` in the initial listing.
        pub event_type: Option<String> = task.call.event_type.clone(),
        /// The whole event: `type` and `object`.
        pub raw: View = View::segment(task, tag::EVENT, "event"),
        /// Changes of the object.
        pub patch: Patch = task.left.patch.clone(),
        /// Kubernetes events about the object.
        pub events: Events = Events::of(task),
    }
}

arguments!(Event<S>);

impl<S: Spec> Event<S> {
    sleep!();
    object!(S);
}
