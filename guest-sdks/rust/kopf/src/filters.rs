//! Filters of handlers.

use crate::change::{DiffItem, diff};
use crate::context::{context, object};
use crate::error::Error;
use crate::task::Task;
use crate::view::View;
use kopf_abi::{self as abi, tag};
use serde_json::{Value, json};
use std::rc::Rc;

context! {
    /// What a filter may look at: the object and what happened to it.
    pub struct Cause: object(task) {
        /// The value that the filter is for: of the label, the annotation, or the field;
        /// `None` if there is none, and for `when`.
        pub value: Option<Value> = None,
        /// What happened, for handlers of changes: `create`, `update`, `delete`, `resume`.
        pub reason: String = task.call.reason.clone(),
        /// The type of an event; `None` in the initial listing, and where the cause is not an event.
        pub event_type: Option<String> = task.call.event_type.clone(),
        /// The operation of a review; empty elsewhere.
        pub operation: String = operation(task),
        /// The last handled state, or the value of the field before.
        pub old: View = View::segment(task, tag::OLD, "old"),
        /// The current state, or the value of the field.
        pub new: View = View::segment(task, tag::NEW, "new"),
    }
}

/// The operation of a review.
fn operation(task: &Task) -> String {
    task.admission.borrow().as_ref().map(|admission| admission.operation.clone()).unwrap_or_default()
}

impl Cause {
    object!(View);

    pub(crate) fn new(task: &Rc<Task>, value: &abi::Value) -> Result<Cause, Error> {
        let mut cause = Cause::of(task)?;
        cause.value = (!value.absent).then(|| value.value.clone().unwrap_or_default());
        Ok(cause)
    }

    /// The differences between old and new.
    pub fn diff(&self) -> Vec<DiffItem> {
        diff(&self.task)
    }
}

/// Decides whether a handler is for a cause: by the value of a label, an annotation,
/// or a field, or by a function. Functions must be fast and have no effects; a panic
/// fails the whole cycle of the object.
///
/// ```
/// # use kopf::{ABSENT, Cause, Change, PRESENT, any, not};
/// fn is_large(c: &Cause) -> bool {
///     c.spec["size"].as_u64() > Some(10)
/// }
///
/// #[kopf::create("kopfexamples", labels = {"app": "web", "tier": any(["a", "b"]), "skip": ABSENT}, when = not(is_large))]
/// async fn create_fn(c: Change) {}
/// ```
///
/// See <https://docs.kopf.dev/en/latest/filters/>
#[derive(Clone)]
pub struct Filter(Form);

#[derive(Clone)]
enum Form {
    Present,
    Absent,
    Value(Value),
    Check(Rc<dyn Fn(&Cause) -> bool>),
}

/// There is some value.
pub const PRESENT: Filter = Filter(Form::Present);

/// There is no value.
pub const ABSENT: Filter = Filter(Form::Absent);

impl Filter {
    /// A function as a filter. Functions are filters by themselves; with this, the
    /// argument of a closure needs no type.
    pub fn check(check: impl Fn(&Cause) -> bool + 'static) -> Filter {
        Filter(Form::Check(Rc::new(check)))
    }

    /// Whether the filter is for the cause.
    pub fn holds(&self, c: &Cause) -> bool {
        match &self.0 {
            Form::Present => c.value.is_some(),
            Form::Absent => c.value.is_none(),
            Form::Value(value) => c.value.as_ref() == Some(value),
            Form::Check(check) => check(c),
        }
    }

    /// The filter in a message. Functions stay here.
    pub(crate) fn wire(&self) -> Value {
        match &self.0 {
            Form::Present => json!({"$": "PRESENT"}),
            Form::Absent => json!({"$": "ABSENT"}),
            Form::Check(_) => function(),
            Form::Value(value) if value.get("$").is_some() => json!({"$": "VALUE", "value": value}),
            Form::Value(value) => value.clone(),
        }
    }

    pub(crate) fn is_function(&self) -> bool {
        matches!(self.0, Form::Check(_))
    }
}

/// What stands for a function in a declaration: the guest is asked.
pub(crate) fn function() -> Value {
    json!({"$": "FUNCTION"})
}

impl<F: Fn(&Cause) -> bool + 'static> From<F> for Filter {
    fn from(check: F) -> Filter {
        Filter::check(check)
    }
}

macro_rules! values {
    ($($value:ty),*) => {$(
        impl From<$value> for Filter {
            fn from(value: $value) -> Filter {
                Filter(Form::Value(value.into()))
            }
        }
    )*};
}

values!(&str, String, bool, i32, i64, u32, u64, f64, Value);

/// True if the filter is not.
///
/// Kopf: `kopf.not_`.
pub fn not(filter: impl Into<Filter>) -> Filter {
    let filter = filter.into();
    Filter::check(move |c| !filter.holds(c))
}

/// True if all filters are.
///
/// Kopf: `kopf.all_`.
pub fn all<F: Into<Filter>>(filters: impl IntoIterator<Item = F>) -> Filter {
    let filters = list(filters);
    Filter::check(move |c| filters.iter().all(|filter| filter.holds(c)))
}

/// True if at least one of the filters is.
///
/// Kopf: `kopf.any_`.
pub fn any<F: Into<Filter>>(filters: impl IntoIterator<Item = F>) -> Filter {
    let filters = list(filters);
    Filter::check(move |c| filters.iter().any(|filter| filter.holds(c)))
}

/// True if none of the filters is.
///
/// Kopf: `kopf.none_`.
pub fn none<F: Into<Filter>>(filters: impl IntoIterator<Item = F>) -> Filter {
    not(any(filters))
}

fn list<F: Into<Filter>>(filters: impl IntoIterator<Item = F>) -> Vec<Filter> {
    filters.into_iter().map(Into::into).collect()
}
