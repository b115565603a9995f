//! Messages as JSON. They are few and small, while code for each type of them would be
//! most of a small module: so all go through one kind of values.

use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Something that can be in a message. Values of wrong types read as empty ones.
pub trait Field: Default {
    /// The value in a message.
    fn read(json: Json) -> Self;
    /// The form in a message.
    fn write(self) -> Json;
    /// Whether it may be left out.
    fn is_empty(&self) -> bool;
}

/// Takes a field out of a message.
pub fn take<T: Field>(message: &mut Map<String, Json>, key: &str) -> T {
    message.remove(key).map(T::read).unwrap_or_default()
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

        impl $crate::message::Field for $name {
            fn read(json: serde_json::Value) -> Self {
                let serde_json::Value::Object(mut message) = json else { return Self::default() };
                $name { $($field: $crate::message::take(&mut message, $key),)* }
            }

            fn write(self) -> serde_json::Value {
                let mut message = serde_json::Map::new();
                $(
                    if $crate::message::message!(@always $($always)?) || !$crate::message::Field::is_empty(&self.$field) {
                        message.insert($key.to_owned(), $crate::message::Field::write(self.$field));
                    }
                )*
                serde_json::Value::Object(message)
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

impl Field for Json {
    fn read(json: Json) -> Json {
        json
    }
    fn write(self) -> Json {
        self
    }
    fn is_empty(&self) -> bool {
        self.is_null()
    }
}

impl Field for Map<String, Json> {
    fn read(json: Json) -> Self {
        if let Json::Object(map) = json { map } else { Map::new() }
    }
    fn write(self) -> Json {
        Json::Object(self)
    }
    fn is_empty(&self) -> bool {
        Map::is_empty(self)
    }
}

impl Field for String {
    fn read(json: Json) -> String {
        if let Json::String(text) = json { text } else { String::new() }
    }
    fn write(self) -> Json {
        Json::String(self)
    }
    fn is_empty(&self) -> bool {
        String::is_empty(self)
    }
}

impl Field for bool {
    fn read(json: Json) -> bool {
        json == Json::Bool(true)
    }
    fn write(self) -> Json {
        Json::Bool(self)
    }
    fn is_empty(&self) -> bool {
        !self
    }
}

impl Field for f64 {
    fn read(json: Json) -> f64 {
        json.as_f64().unwrap_or_default()
    }
    fn write(self) -> Json {
        self.into()
    }
    fn is_empty(&self) -> bool {
        *self == 0.0
    }
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn read(json: Json) -> $type {
                json.as_u64().and_then(|n| n.try_into().ok()).unwrap_or_default()
            }
            fn write(self) -> Json {
                self.into()
            }
            fn is_empty(&self) -> bool {
                *self == 0
            }
        }
    )*};
}

numbers!(u16, u32, usize);

impl<T: Field> Field for Option<T> {
    fn read(json: Json) -> Self {
        if json.is_null() { None } else { Some(T::read(json)) }
    }
    fn write(self) -> Json {
        self.map(T::write).unwrap_or_default()
    }
    fn is_empty(&self) -> bool {
        self.is_none()
    }
}

impl<T: Field + Clone> Field for Rc<T> {
    fn read(json: Json) -> Self {
        Rc::new(T::read(json))
    }
    fn write(self) -> Json {
        Rc::unwrap_or_clone(self).write()
    }
    fn is_empty(&self) -> bool {
        T::is_empty(self)
    }
}

impl<T: Field> Field for Vec<T> {
    fn read(json: Json) -> Self {
        if let Json::Array(items) = json { items.into_iter().map(T::read).collect() } else { Vec::new() }
    }
    fn write(self) -> Json {
        self.into_iter().map(T::write).collect()
    }
    fn is_empty(&self) -> bool {
        Vec::is_empty(self)
    }
}

impl<T: Field> Field for BTreeMap<String, T> {
    fn read(json: Json) -> Self {
        let mut map = BTreeMap::new();
        if let Json::Object(fields) = json {
            for (key, value) in fields {
                map.insert(key, T::read(value)); // not collected: that would bring a sort along
            }
        }
        map
    }
    fn write(self) -> Json {
        let mut fields = Map::new();
        for (key, value) in self {
            fields.insert(key, value.write());
        }
        Json::Object(fields)
    }
    fn is_empty(&self) -> bool {
        BTreeMap::is_empty(self)
    }
}
