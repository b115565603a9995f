//! What handlers get of the object that they are called for.

use crate::call::Call;
use crate::error::{DecodeError, Error};
use crate::hierarchy::Owner;
use crate::task::Task;
use crate::view::View;
use kopf_abi::Resource;
use serde::de::DeserializeOwned;
use std::any::Any;
use std::rc::Rc;

/// What handlers get of the object that they are called for. Their arguments
/// dereference to it, and it to [`Call`].
///
/// The type `S` is that of the spec: yours, or a [`View`] of whatever it is.
///
/// See <https://docs.kopf.dev/en/latest/kwargs/>
#[derive(Clone)]
pub struct Object<S = View> {
    /// What every handler gets.
    pub call: Call,
    /// The spec. If it is of a type of yours and does not fit into it, the handler
    /// is not called, and fails for good.
    pub spec: S,
    /// The whole object, as the API server sent it.
    pub body: View,
    /// Its metadata.
    pub meta: View,
    /// Its status.
    pub status: View,
    /// Its labels.
    pub labels: View,
    /// Its annotations.
    pub annotations: View,
    /// Its name; empty if it has none, as while it is created with `generateName`.
    pub name: String,
    /// Its namespace, if it is in one.
    pub namespace: Option<String>,
    /// Its uid; empty if it has none.
    pub uid: String,
    /// Its resource.
    pub resource: Resource,
}

/// What the spec of an object can be decoded into: a [`View`], or any type that
/// implements [`serde::Deserialize`].
pub trait Spec: DeserializeOwned + 'static {}

impl<T: DeserializeOwned + 'static> Spec for T {}

/// Decodes the spec; views stay as they are.
pub(crate) fn decode<S: Spec>(spec: View) -> Result<S, DecodeError> {
    let mut given: Option<View> = Some(spec);
    if let Some(same) = (&mut given as &mut dyn Any).downcast_mut::<Option<S>>()
        && let Some(same) = same.take()
    {
        return Ok(same);
    }
    given.unwrap_or_else(View::nothing).decode()
}

impl<S: Spec> Object<S> {
    pub(crate) fn new(task: &Rc<Task>) -> Result<Object<S>, Error> {
        let call = &task.call;
        let body = task.body.clone().unwrap_or_else(View::nothing);
        let meta = body.member("metadata");
        Ok(Object {
            call: Call::new(task),
            spec: decode(body.member("spec"))?,
            status: body.member("status"),
            labels: meta.member("labels"),
            annotations: meta.member("annotations"),
            meta,
            body,
            name: call.name.clone(),
            namespace: (!call.namespace.is_empty()).then(|| call.namespace.clone()),
            uid: call.uid.clone(),
            resource: call.resource.clone().unwrap_or_default(),
        })
    }

    /// Shows the newest known body from now on.
    pub(crate) fn refresh(&mut self) -> Result<(), Error> {
        let old = self.body.clone();
        let task = self.call.task.clone();
        self.body = View::fetched("", move || {
            let fresh = task.host.segment(task.id, kopf_abi::tag::FRESH).ok();
            Some(fresh.unwrap_or_else(|| old.text().into_owned()))
        });
        self.meta = self.body.member("metadata");
        self.status = self.body.member("status");
        self.labels = self.meta.member("labels");
        self.annotations = self.meta.member("annotations");
        self.spec = decode(self.body.member("spec"))?;
        Ok(())
    }

    /// The object as the owner of others: see [`Owner`].
    pub fn owner(&self) -> Owner {
        Owner::new(self.body.clone())
    }
}

impl<S> std::ops::Deref for Object<S> {
    type Target = Call;

    fn deref(&self) -> &Call {
        &self.call
    }
}

/// Makes an argument of handlers dereference to the object, or to another part of it.
macro_rules! deref {
    ($argument:ident<S> => $field:ident: $target:ty) => {
        impl<S> std::ops::Deref for $argument<S> {
            type Target = $target;

            fn deref(&self) -> &$target {
                &self.$field
            }
        }
    };
    ($argument:ident => $field:ident: $target:ty) => {
        impl std::ops::Deref for $argument {
            type Target = $target;

            fn deref(&self) -> &$target {
                &self.$field
            }
        }
    };
}
pub(crate) use deref;
