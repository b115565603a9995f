//! Views of JSON that are decoded when they are looked at.

use crate::error::DecodeError;
use crate::scan;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::rc::Rc;

/// A part of an object or of a message: a [`serde_json::Value`] that is fetched and
/// decoded when it is first looked at. Clones are cheap.
///
/// An absent `spec`, `status`, `labels` and so on looks like an empty one.
///
/// ```
/// # use kopf::{View, json};
/// let spec = View::from(json!({"size": 5, "zones": ["a", "b"]}));
/// assert_eq!(spec["size"].as_u64(), Some(5));
/// assert_eq!(spec["zones"][1], "b");
/// assert!(spec.get("replicas").is_none());
/// let zones: Vec<String> = spec.part("zones").decode()?;
/// # Ok::<(), kopf::DecodeError>(())
/// ```
#[derive(Clone)]
pub struct View(Rc<Inner>);

struct Inner {
    /// The name in errors.
    name: String,
    source: Source,
    text: OnceCell<Vec<u8>>,
    value: OnceCell<Value>,
}

enum Source {
    /// There is a text, or a value.
    Given,
    /// A part of another one; an empty object if there is none.
    Member(View, &'static str),
    /// From the host; nothing if it has none.
    Fetched(Box<dyn Fn() -> Option<Vec<u8>>>),
}

impl View {
    fn new(name: String, source: Source) -> View {
        View(Rc::new(Inner { name, source, text: OnceCell::new(), value: OnceCell::new() }))
    }

    /// A view of a JSON text. A text that is not JSON looks like null.
    pub fn of_text(text: impl Into<Vec<u8>>) -> View {
        let view = View::new(String::new(), Source::Given);
        view.0.text.get_or_init(|| text.into());
        view
    }

    /// A view of nothing: null.
    pub(crate) fn nothing() -> View {
        View::from(Value::Null)
    }

    pub(crate) fn fetched(name: &str, fetch: impl Fn() -> Option<Vec<u8>> + 'static) -> View {
        View::new(name.to_owned(), Source::Fetched(Box::new(fetch)))
    }

    pub(crate) fn member(&self, key: &'static str) -> View {
        let name = if self.0.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.0.name) };
        View::new(name, Source::Member(self.clone(), key))
    }

    /// The value of a key, for [`decode`](View::decode): null if there is none.
    pub fn part(&self, key: &str) -> View {
        let name = if self.0.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.0.name) };
        let part = View::new(name, Source::Given);
        let text = self.text();
        part.0.text.get_or_init(|| match scan::member(&text, key) {
            Some(range) => text[range].to_vec(),
            None => b"null".to_vec(),
        });
        part
    }

    /// The JSON text.
    pub fn text(&self) -> Cow<'_, [u8]> {
        if let Some(value) = self.0.value.get().filter(|_| self.0.text.get().is_none()) {
            return Cow::Owned(serde_json::to_vec(value).unwrap_or_default());
        }
        Cow::Borrowed(self.0.text.get_or_init(|| match &self.0.source {
            Source::Given => b"null".to_vec(),
            Source::Fetched(fetch) => fetch().unwrap_or_else(|| b"null".to_vec()),
            Source::Member(of, key) => match scan::member(&of.text(), key) {
                Some(range) => match &of.text()[range] {
                    b"null" => b"{}".to_vec(),
                    text => text.to_vec(),
                },
                None => b"{}".to_vec(),
            },
        }))
    }

    /// The value, decoded.
    pub fn value(&self) -> &Value {
        self.0.value.get_or_init(|| serde_json::from_slice(&self.text()).unwrap_or_default())
    }

    /// Decodes the value into a type of yours.
    ///
    /// Errors name the field, and make a handler fail for good.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        let text = self.text();
        serde_json::from_slice(&text).map_err(|err| DecodeError::new(&self.0.name, &text, &err))
    }
}

impl std::ops::Deref for View {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value()
    }
}

impl From<Value> for View {
    fn from(value: Value) -> View {
        let view = View::new(String::new(), Source::Given);
        view.0.value.get_or_init(|| value);
        view
    }
}

impl PartialEq<Value> for View {
    fn eq(&self, other: &Value) -> bool {
        self.value() == other
    }
}

impl std::fmt::Display for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.value().fmt(f)
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.value().fmt(f)
    }
}

impl Serialize for View {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for View {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(View::from)
    }
}
