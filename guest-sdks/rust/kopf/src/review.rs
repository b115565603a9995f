//! Admission handlers.

use crate::change::{DiffItem, diff};
use crate::error::Error;
use crate::handler::Argument;
use crate::object::{Object, Spec, deref};
use crate::patch::Patch;
use crate::task::Task;
use crate::view::View;
use kopf_abi::{Admission, Field, tag};
use serde_json::Value;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The argument of admission handlers. It dereferences to [`Object`]. An error refuses
/// the change.
///
/// ```
/// # use kopf::{Error, Review};
/// #[kopf::validate("kopfexamples", operation = "CREATE")]
/// fn check(r: Review) -> kopf::Result {
///     if r.spec["field"] == "forbidden" {
///         return Err(Error::admission("this value is forbidden").code(403));
///     }
///     Ok(())
/// }
/// ```
///
/// See <https://docs.kopf.dev/en/latest/admission/>
pub struct Review<S = View> {
    /// The object.
    pub object: Object<S>,
    /// The object before, in updates and deletions.
    pub old: View,
    /// The object after, in creations and updates.
    pub new: View,
    /// `CREATE`, `UPDATE`, `DELETE`, `CONNECT`.
    pub operation: String,
    /// `None` for the object itself.
    pub subresource: Option<String>,
    /// There must be no side effects.
    pub dry_run: bool,
    /// Who asks: `username`, `uid`, `groups`, `extra`.
    pub user_info: Value,
    /// Of the request.
    pub headers: BTreeMap<String, Vec<String>>,
    /// Of the client's certificate, if there is one.
    pub ssl_peer: Value,
    /// Changes of the object, by mutating handlers.
    pub patch: Patch,
}

deref!(Review<S> => object: Object<S>);

impl<S: Spec> Argument for Review<S> {
    fn make(task: &Rc<Task>) -> Result<Self, Error> {
        let admission = Admission::read(task.call.admission.clone().unwrap_or_default());
        Ok(Review {
            object: Object::new(task)?,
            old: task.segment("old", tag::OLD),
            new: task.segment("new", tag::NEW),
            operation: admission.operation,
            subresource: Some(admission.subresource).filter(|name| !name.is_empty()),
            dry_run: admission.dryrun,
            user_info: admission.userinfo.unwrap_or_default(),
            headers: admission.headers,
            ssl_peer: admission.sslpeer.unwrap_or_default(),
            patch: task.left.patch.clone(),
        })
    }
}

impl<S> Review<S> {
    /// Adds a warning that is shown to the user.
    pub fn warn(&self, message: impl Into<String>) {
        self.task.left.warnings.borrow_mut().push(message.into());
    }

    /// The differences between old and new.
    pub fn diff(&self) -> Vec<DiffItem> {
        diff(&self.task)
    }
}
