//! What handlers get of the object that they are called for.

use crate::context::{arguments, context, sleep};
use crate::error::DecodeError;
use crate::view::View;
use serde::de::DeserializeOwned;
use std::any::Any;

context! {
    /// What handlers get of the object that they are called for, whatever their kind: see [`Change::object`](crate::Change::object).
    ///
    /// The type `S` is that of the spec: yours, or a [`View`] of whatever it is.
    ///
    /// See <https://docs.kopf.dev/en/latest/kwargs/>
    #[derive(Clone)]
    pub struct Object<S>(task) {}
}

arguments!(Object<S>);

impl<S: Spec> Object<S> {
    sleep!();
}

/// What the spec of an object can be decoded into: a [`View`], or any type that
/// implements [`serde::Deserialize`].
pub trait Spec: DeserializeOwned + 'static {}

impl<T: DeserializeOwned + 'static> Spec for T {}

/// Decodes the spec; views stay as they are.
pub(crate) fn decode<S: Spec>(spec: View) -> Result<S, DecodeError> {
    match undecoded(spec.clone()) {
        Some(same) => Ok(same),
        None => spec.decode(),
    }
}

/// The spec, if the handler takes it as a view.
pub(crate) fn undecoded<S: Spec>(spec: View) -> Option<S> {
    (&mut Some(spec) as &mut dyn Any).downcast_mut::<Option<S>>()?.take()
}
