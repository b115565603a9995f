//! Messages as JSON. They are read out of the text field by field, and written into a text in the
//! same way: values in between would cost more than what handlers do.

use crate::reader::{Reader, unquoted};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// Something that can be in a message. Values of wrong types read as empty ones.
pub trait Field: Default {
    /// Reads the next value.
    fn read(from: &mut Reader) -> Self;
    /// Appends the form in a message.
    fn write(&self, to: &mut Vec<u8>);
    /// Whether it may be left out.
    fn is_empty(&self) -> bool;

    /// Reads the next value into a field. It is code of a type, not of each field with that type.
    #[inline(never)]
    fn fill(&mut self, from: &mut Reader) {
        *self = Self::read(from);
    }

    /// Appends a field with its key, unless it may be left out. It is code of a type, too.
    #[inline(never)]
    fn append(&self, key: &str, always: bool, to: &mut Vec<u8>) {
        if always || !self.is_empty() {
            write_key(key, to);
            self.write(to);
        }
    }
}

/// Declares a message: its fields, their types and keys; `always` are those that are
/// written also if they are empty.
macro_rules! message {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$doc:meta])* $field:ident: $type:ty = $key:literal $($always:ident)?,)*
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $name {
            /// Reads the value of a key.
            fn read_field(&mut self, key: &[u8], from: &mut $crate::Reader) {
                $(
                    if key == concat!("\"", $key, "\"").as_bytes() {
                        return $crate::message::Field::fill(&mut self.$field, from);
                    }
                )*
                from.value();
            }

            fn write_fields(&self, to: &mut Vec<u8>) {
                $(
                    let always = $crate::message::message!(@always $($always)?);
                    $crate::message::Field::append(&self.$field, concat!("\"", $key, "\":"), always, to);
                )*
            }
        }

        impl $crate::message::Field for $name {
            fn read(from: &mut $crate::Reader) -> Self {
                let mut message = Self::default();
                if from.enter(b'{') {
                    while let Some(key) = from.key() {
                        message.read_field(key, from);
                    }
                }
                message
            }

            fn write(&self, to: &mut Vec<u8>) {
                to.push(b'{');
                self.write_fields(to);
                to.push(b'}');
            }

            fn is_empty(&self) -> bool {
                $((!$crate::message::message!(@always $($always)?) && $crate::message::Field::is_empty(&self.$field)) &&)* true
            }
        }
    };
    (@always always) => { true };
    (@always) => { false };
}
pub(crate) use message;

/// Appends a key with its quotes and its colon, after a comma if it is not the first one.
pub(crate) fn write_key(key: &str, to: &mut Vec<u8>) {
    if to.last() != Some(&b'{') {
        to.push(b',');
    }
    to.extend_from_slice(key.as_bytes());
}

/// Appends a text in quotes.
pub(crate) fn write_text(text: &str, to: &mut Vec<u8>) {
    if text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        to.push(b'"');
        to.extend_from_slice(text.as_bytes());
        to.push(b'"');
    } else {
        write_json(&text.into(), to);
    }
}

/// Appends a value. There is no error: keys are texts, and memory is all that can be lacking.
pub(crate) fn write_json(json: &Json, to: &mut Vec<u8>) {
    let _ = serde_json::to_writer(to, json);
}

/// Decodes a value. All do it here: each crate that calls the parser has its own copy of it.
///
/// Errors: it is not JSON.
#[inline(never)]
pub fn json(text: &[u8]) -> Result<Json, serde_json::Error> {
    serde_json::from_slice(text)
}

/// Reads a value.
pub(crate) fn read_json(from: &mut Reader) -> Json {
    json(from.value()).unwrap_or_else(|_| {
        from.fail();
        Json::Null
    })
}

impl Field for Json {
    fn read(from: &mut Reader) -> Json {
        read_json(from)
    }
    fn write(&self, to: &mut Vec<u8>) {
        write_json(self, to);
    }
    fn is_empty(&self) -> bool {
        self.is_null()
    }
}

impl Field for Map<String, Json> {
    fn read(from: &mut Reader) -> Self {
        if let Json::Object(map) = read_json(from) { map } else { Map::new() }
    }
    fn write(&self, to: &mut Vec<u8>) {
        write_map(self, to);
    }
    fn is_empty(&self) -> bool {
        Map::is_empty(self)
    }
}

/// Appends a map, key by key.
fn write_map<'a, T: Field + 'a>(map: impl IntoIterator<Item = (&'a String, &'a T)>, to: &mut Vec<u8>) {
    to.push(b'{');
    for (key, value) in map {
        write_key("", to);
        write_text(key, to);
        to.push(b':');
        value.write(to);
    }
    to.push(b'}');
}

impl Field for String {
    fn read(from: &mut Reader) -> String {
        let value = from.value();
        unquoted(value).unwrap_or_else(|| {
            if value.first() == Some(&b'"') {
                from.fail();
            }
            String::new()
        })
    }
    fn write(&self, to: &mut Vec<u8>) {
        write_text(self, to);
    }
    fn is_empty(&self) -> bool {
        String::is_empty(self)
    }
}

impl Field for bool {
    fn read(from: &mut Reader) -> bool {
        from.value() == b"true"
    }
    fn write(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(if *self { b"true" } else { b"false" });
    }
    fn is_empty(&self) -> bool {
        !self
    }
}

impl Field for f64 {
    fn read(from: &mut Reader) -> f64 {
        read_json(from).as_f64().unwrap_or_default()
    }
    fn write(&self, to: &mut Vec<u8>) {
        write_json(&(*self).into(), to);
    }
    fn is_empty(&self) -> bool {
        *self == 0.0
    }
}

fn read_number(from: &mut Reader) -> u64 {
    std::str::from_utf8(from.value()).ok().and_then(|digits| digits.parse().ok()).unwrap_or_default()
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn read(from: &mut Reader) -> $type {
                read_number(from).try_into().unwrap_or_default()
            }
            fn write(&self, to: &mut Vec<u8>) {
                write_json(&(*self).into(), to);
            }
            fn is_empty(&self) -> bool {
                *self == 0
            }
        }
    )*};
}

numbers!(u16, u32, usize);

impl<T: Field> Field for Option<T> {
    fn read(from: &mut Reader) -> Self {
        if from.peek() == b'n' {
            from.value();
            return None;
        }
        Some(T::read(from))
    }
    fn write(&self, to: &mut Vec<u8>) {
        match self {
            Some(value) => value.write(to),
            None => to.extend_from_slice(b"null"),
        }
    }
    fn is_empty(&self) -> bool {
        self.is_none()
    }
}

impl<T: Field> Field for Vec<T> {
    fn read(from: &mut Reader) -> Self {
        let mut list = Vec::new();
        if from.enter(b'[') {
            while from.item() {
                list.push(T::read(from));
            }
        }
        list
    }
    fn write(&self, to: &mut Vec<u8>) {
        to.push(b'[');
        for (index, item) in self.iter().enumerate() {
            if index > 0 {
                to.push(b',');
            }
            item.write(to);
        }
        to.push(b']');
    }
    fn is_empty(&self) -> bool {
        Vec::is_empty(self)
    }
}

impl<T: Field> Field for BTreeMap<String, T> {
    fn read(from: &mut Reader) -> Self {
        let mut map = BTreeMap::new();
        if from.enter(b'{') {
            while let Some(key) = from.key() {
                match unquoted(key) {
                    Some(key) => drop(map.insert(key, T::read(from))),
                    None => from.fail(),
                }
            }
        }
        map
    }
    fn write(&self, to: &mut Vec<u8>) {
        write_map(self, to);
    }
    fn is_empty(&self) -> bool {
        BTreeMap::is_empty(self)
    }
}
