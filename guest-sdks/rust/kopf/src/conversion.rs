//! Conversions between versions of a resource.

use crate::context::{arguments, context, sleep};
use crate::error::Error;
use crate::handler::Handler;
use crate::patch::is_same;
use crate::selector::Selector;
use crate::task::{Returned, Task};
use crate::view::View;
use kopf_abi as abi;
use serde::Serialize;
use serde_json::Value;

context! {
    /// The argument of handlers that convert an object from one version of its resource to
    /// another one. An error fails the whole request of the user.
    ///
    /// The host finds the shortest way for longer conversions: with three versions, two steps
    /// there and two back are enough. It sets the `apiVersion`, and takes of the metadata labels
    /// and annotations only.
    ///
    /// ```
    /// # use kopf::{Conversion, Value};
    /// #[kopf::convert("widgets.example.com", from = "v1", to = "v2")]
    /// fn to_v2(mut c: Conversion) -> Value {
    ///     let spec = c.object["spec"].as_object_mut();
    ///     if let Some(spec) = spec && let Some(size) = spec.remove("size") {
    ///         spec.insert("replicas".to_owned(), size);
    ///     }
    ///     c.object
    /// }
    /// ```
    ///
    /// Nothing may be lost on the way there and back: see [`round_trip`](crate::testing::round_trip).
    ///
    /// See <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/>
    pub struct Conversion(task) {
        /// The version of the object, without the group.
        pub from: String = task.call.conversion.clone().unwrap_or_default().from,
        /// The version that is wanted, without the group.
        pub to: String = task.call.conversion.clone().unwrap_or_default().to,
        /// The name of the object; empty if it has none yet.
        pub name: String = task.call.name.clone(),
        /// Its namespace, if it is in one.
        pub namespace: Option<String> = (!task.call.namespace.is_empty()).then(|| task.call.namespace.clone()),
        /// The whole object.
        pub object: Value = body(task)?.decode()?,
    }
}

arguments!(Conversion);

impl Conversion {
    sleep!();
}

/// The object of a conversion. Its numbers keep their texts in the result, where they are the same.
fn body(task: &Task) -> Result<View, Error> {
    task.left.rewrite.set(Some(|task, step| {
        let before = task.body.borrow().as_ref().map(|object| [&b"{\"result\":"[..], &object.text(), b"}"].concat());
        abi::keep_numbers(&before.unwrap_or_default(), &step, is_same)
    }));
    task.body.borrow().clone().ok_or_else(|| Error::permanent("a conversion of no object"))
}

/// What handlers of conversions return: the whole object in the version that is wanted, or a
/// [`Result`](crate::Result) with it. It is a [`Value`], or anything in the result that [`serde`] can write.
///
/// Other types do not compile:
///
/// ```compile_fail
/// #[kopf::convert("widgets.example.com", from = "v1", to = "v2")]
/// fn to_v2(c: kopf::Conversion) {}
/// ```
#[diagnostic::on_unimplemented(
    message = "a handler of conversions cannot return `{Self}`",
    note = "return the object: a `kopf::Value`, or a `kopf::Result` of something that implements `serde::Serialize`"
)]
pub trait Converted {
    #[doc(hidden)]
    fn returned(self) -> Returned;
}

impl Converted for Value {
    fn returned(self) -> Returned {
        Ok((Some(self), false))
    }
}

impl<T: Serialize, E: Into<Error>> Converted for Result<T, E> {
    fn returned(self) -> Returned {
        crate::handler::Outcome::returned(self)
    }
}

impl Handler {
    /// Converts objects by one step between two versions, which are given with the options
    /// [`from`](Handler::from) and [`to`](Handler::to).
    pub fn convert<R: Converted + 'static>(
        resource: impl Into<Selector>,
        f: impl AsyncFn(Conversion) -> R + 'static,
    ) -> Handler {
        Handler::new("convert", Some(resource.into()), f, R::returned)
    }

    /// The version that a conversion begins with, without the group.
    pub fn from(mut self, version: &str) -> Handler {
        self.set("from", version.into());
        self
    }

    /// The version that a conversion ends with, without the group.
    pub fn to(mut self, version: &str) -> Handler {
        self.set("to", version.into());
        self
    }
}
