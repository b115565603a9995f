//! Admission handlers.

use crate::change::{DiffItem, diff};
use crate::context::{arguments, context, object, sleep};
use crate::object::Spec;
use crate::patch::Patch;
use crate::view::View;
use kopf_abi::tag;
use serde_json::Value;
use std::collections::BTreeMap;

context! {
    /// The argument of admission handlers. An error refuses the change.
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
    pub struct Review<S>(task, request = task.admission.take().unwrap_or_default()) {
        /// The object before, in updates and deletions.
        pub old: View = View::segment(task, tag::OLD, "old"),
        /// The object after, in creations and updates.
        pub new: View = View::segment(task, tag::NEW, "new"),
        /// `CREATE`, `UPDATE`, `DELETE`, `CONNECT`.
        pub operation: String = request.operation,
        /// `None` for the object itself.
        pub subresource: Option<String> = Some(request.subresource).filter(|name| !name.is_empty()),
        /// There must be no side effects.
        pub dry_run: bool = request.dryrun,
        /// Who asks: `username`, `uid`, `groups`, `extra`.
        pub user_info: Value = request.userinfo.unwrap_or_default(),
        /// Of the request.
        pub headers: BTreeMap<String, Vec<String>> = request.headers,
        /// Of the client's certificate, if there is one.
        pub ssl_peer: Value = request.sslpeer.unwrap_or_default(),
        /// Changes of the object, by mutating handlers.
        pub patch: Patch = task.left.patch.clone(),
    }
}

arguments!(Review<S>);

impl<S: Spec> Review<S> {
    sleep!();
    object!(S);

    /// Adds a warning that is shown to the user.
    pub fn warn(&self, message: impl Into<String>) {
        self.task.left.warnings.borrow_mut().push(message.into());
    }

    /// The differences between old and new.
    pub fn diff(&self) -> Vec<DiffItem> {
        diff(&self.task)
    }
}
