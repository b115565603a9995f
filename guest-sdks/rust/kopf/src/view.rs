//! Views of JSON that are decoded when they are looked at.

use crate::error::DecodeError;
use crate::scan;
use crate::task::Task;
use kopf_abi as abi;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;
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
    source: Source,
    text: OnceCell<Text>,
    value: OnceCell<Value>,
}

enum Source {
    /// There is a text, or a value.
    Given,
    /// The value of a key of another one; an empty object if there is none.
    Member(View, &'static str),
    /// The value of a key of another one; null if there is none.
    Part(View, String),
    /// A segment of an invocation, from the host: null if it has none.
    Segment(Rc<Task>, u32, &'static str),
}

/// A text, or a part of one.
#[derive(Clone)]
struct Text {
    whole: Rc<Vec<u8>>,
    place: Range<usize>,
}

impl Text {
    fn new(whole: Vec<u8>) -> Text {
        Text { place: 0..whole.len(), whole: Rc::new(whole) }
    }

    fn bytes(&self) -> &[u8] {
        &self.whole[self.place.clone()]
    }

    fn null() -> Text {
        Text::new(b"null".to_vec())
    }

    /// The value of a key, if there is one.
    fn member(&self, key: &str) -> Option<Text> {
        let Range { start, end } = scan::member(self.bytes(), key)?;
        let before = self.place.start;
        Some(Text { whole: self.whole.clone(), place: before + start..before + end })
    }
}

impl View {
    fn new(source: Source) -> View {
        View(Rc::new(Inner { source, text: OnceCell::new(), value: OnceCell::new() }))
    }

    /// A view of a JSON text. A text that is not JSON looks like null.
    pub fn of_text(text: impl Into<Vec<u8>>) -> View {
        View::given(Text::new(text.into()))
    }

    /// A view of a part of a text.
    pub(crate) fn within(whole: Vec<u8>, place: Range<usize>) -> View {
        View::given(Text { whole: Rc::new(whole), place })
    }

    fn given(text: Text) -> View {
        let view = View::new(Source::Given);
        view.0.text.get_or_init(|| text);
        view
    }

    /// A view of nothing: null.
    pub(crate) fn nothing() -> View {
        View::from(Value::Null)
    }

    pub(crate) fn segment(task: &Rc<Task>, tag: u32, name: &'static str) -> View {
        View::new(Source::Segment(task.clone(), tag, name))
    }

    pub(crate) fn member(&self, key: &'static str) -> View {
        View::new(Source::Member(self.clone(), key))
    }

    /// The value of a key, for [`decode`](View::decode): null if there is none.
    pub fn part(&self, key: &str) -> View {
        View::new(Source::Part(self.clone(), key.to_owned()))
    }

    /// The JSON text.
    pub fn text(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.shared().bytes())
    }

    fn shared(&self) -> &Text {
        self.0.text.get_or_init(|| match &self.0.source {
            Source::Given => Text::new(serde_json::to_vec(&self.0.value.get()).unwrap_or_default()),
            Source::Member(of, key) => match of.shared().member(key) {
                Some(text) if text.bytes() != b"null" => text,
                _ => Text::new(b"{}".to_vec()),
            },
            Source::Part(of, key) => of.shared().member(key).unwrap_or_else(Text::null),
            Source::Segment(task, tag, _) => task.host.segment(task.id, *tag).map_or_else(|_| Text::null(), Text::new),
        })
    }

    /// The name in errors.
    fn name(&self) -> String {
        let (of, key) = match &self.0.source {
            Source::Given => return String::new(),
            Source::Segment(_, _, name) => return (*name).to_owned(),
            Source::Member(of, key) => (of, *key),
            Source::Part(of, key) => (of, key.as_str()),
        };
        let name = of.name();
        if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") }
    }

    /// The value, decoded.
    pub fn value(&self) -> &Value {
        self.0.value.get_or_init(|| abi::json(&self.text()).unwrap_or_default())
    }

    /// Decodes the value into a type of yours.
    ///
    /// Errors name the field, and make a handler fail for good.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        let (text, is_whole) = self.begin();
        let mut decoder = serde_json::Deserializer::from_slice(text);
        let value = T::deserialize(&mut decoder);
        let end = if is_whole { decoder.end() } else { Ok(()) };
        match (value, end) {
            (Ok(value), Ok(())) => Ok(value),
            (Err(err), _) | (_, Err(err)) => Err(DecodeError::new(&self.name(), text, &err)),
        }
    }

    /// The text, or one that begins with it: to look for the end of a member would take as long as decoding it.
    fn begin(&self) -> (&[u8], bool) {
        if let (Source::Member(of, key), None) = (&self.0.source, self.0.text.get()) {
            let whole = of.shared().bytes();
            if let Some(mut reader) = scan::before(whole, key)
                && reader.peek() != b'n'
            {
                return (&whole[reader.at()..], false);
            }
        }
        (self.shared().bytes(), true)
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
        let view = View::new(Source::Given);
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
