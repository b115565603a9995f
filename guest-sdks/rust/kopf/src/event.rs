//! Handlers of watch events.

use crate::error::Error;
use crate::handler::Argument;
use crate::object::{Object, Spec, deref};
use crate::patch::Patch;
use crate::posting::Events;
use crate::task::Task;
use crate::view::View;
use kopf_abi::tag;
use std::rc::Rc;

/// The argument of handlers of events. It dereferences to [`Object`].
///
/// ```
/// # use kopf::Event;
/// #[kopf::event("", "v1", "pods")]
/// async fn spy(e: Event) {
///     kopf::info!(e, "{:?} {}", e.event_type, e.name);
/// }
/// ```
#[derive(Clone)]
pub struct Event<S = View> {
    /// The object.
    pub object: Object<S>,
    /// `ADDED`, `MODIFIED`, `DELETED`; `None` in the initial listing.
    pub event_type: Option<String>,
    /// The whole event: `type` and `object`.
    pub raw: View,
    /// Changes of the object.
    pub patch: Patch,
    /// Kubernetes events about the object.
    pub events: Events,
}

deref!(Event<S> => object: Object<S>);

impl<S: Spec> Argument for Event<S> {
    fn make(task: &Rc<Task>) -> Result<Self, Error> {
        Ok(Event {
            object: Object::new(task)?,
            event_type: task.call.event_type.clone(),
            raw: task.segment("event", tag::EVENT),
            patch: task.left.patch.clone(),
            events: Events::of(task),
        })
    }
}
