//! Indices of objects.

use crate::context::{arguments, context, object, sleep};
use crate::error::Error;
use crate::object::Spec;
use crate::task::{Returned, Task};
use kopf_abi as abi;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::rc::Rc;

context! {
    /// The argument of functions that fill an index.
    ///
    /// ```
    /// # use kopf::{Indexed, Keyed};
    /// #[kopf::index("", "v1", "pods")]
    /// fn by_node(o: Indexed) -> Keyed {
    ///     Keyed::new().with(o.body["spec"]["nodeName"].clone(), &o.name)
    /// }
    /// ```
    ///
    /// See <https://docs.kopf.dev/en/latest/indexing/>
    #[derive(Clone)]
    pub struct Indexed<S>(task) {}
}

arguments!(Indexed<S>);

impl<S: Spec> Indexed<S> {
    sleep!();
    object!(S);
}

/// Keys and values of an object for an index. A key may have several values, and may be
/// anything that JSON can say. No keys remove the object from the index.
#[derive(Clone, Debug, Default)]
pub struct Keyed {
    pairs: Vec<(Value, Value)>,
    problem: Option<String>,
}

impl Keyed {
    /// No keys.
    pub fn new() -> Keyed {
        Keyed::default()
    }

    /// The same with one more key and value.
    pub fn with(mut self, key: impl Serialize, value: impl Serialize) -> Keyed {
        match (serde_json::to_value(key), serde_json::to_value(value)) {
            (Ok(key), Ok(value)) => self.pairs.push((key, value)),
            (Err(err), _) | (_, Err(err)) => self.problem = Some(err.to_string()),
        }
        self
    }
}

impl<K: Serialize, V: Serialize> FromIterator<(K, V)> for Keyed {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Keyed {
        pairs.into_iter().fold(Keyed::new(), |keyed, (key, value)| keyed.with(key, value))
    }
}

/// One value of an object for an index, without a key: it is under the key null.
#[derive(Clone, Debug)]
pub struct Unkeyed<T>(pub T);

/// What functions that fill an index may return: [`Keyed`], [`Unkeyed`], `None` of these to
/// keep what is there, or a result with one of them.
#[diagnostic::on_unimplemented(
    message = "an index handler cannot return `{Self}`",
    note = "return `kopf::Keyed` or `kopf::Unkeyed`, in an `Option` to keep what is there, in a `kopf::Result` if it may fail"
)]
pub trait Values {
    #[doc(hidden)]
    fn returned(self) -> Returned;
}

impl Values for Keyed {
    fn returned(self) -> Returned {
        match self.problem {
            Some(problem) => Err(Error::permanent(problem)),
            None => Ok((Some(serde_json::to_value(&self.pairs)?), true)),
        }
    }
}

impl<T: Serialize> Values for Unkeyed<T> {
    fn returned(self) -> Returned {
        Ok((Some(serde_json::to_value(&self.0)?), false))
    }
}

impl<T: Values> Values for Option<T> {
    fn returned(self) -> Returned {
        self.map_or(Ok((None, false)), Values::returned)
    }
}

impl<T: Values, E: Into<Error>> Values for Result<T, E> {
    fn returned(self) -> Returned {
        self.map_err(Into::into)?.returned()
    }
}

/// Looks into an index of the operator, which stays in the host: only what is asked
/// for is copied. See [`Call::index`](crate::Call::index).
#[derive(Clone)]
pub struct Index {
    pub(crate) task: Rc<Task>,
    pub(crate) name: String,
}

impl Index {
    /// The values of a key, in no particular order; those without a key for null or `()`.
    pub fn get(&self, key: impl Serialize) -> Vec<Value> {
        self.ask(abi::index::GET, key).unwrap_or_default()
    }

    /// All keys, in no particular order.
    pub fn keys(&self) -> Vec<Value> {
        self.ask(abi::index::KEYS, ()).unwrap_or_default()
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.ask(abi::index::LEN, ()).unwrap_or_default()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there are values of the key.
    pub fn contains(&self, key: impl Serialize) -> bool {
        self.ask(abi::index::HAS, key).unwrap_or_default()
    }

    fn ask<T: DeserializeOwned>(&self, op: u32, key: impl Serialize) -> Option<T> {
        let key = serde_json::to_vec(&key).ok()?;
        let answer = self.task.host.index(self.task.id, op, &self.name, &key).ok()?;
        serde_json::from_slice(&answer).ok()
    }
}
