//! The resources that handlers are for.

use kopf_abi::Resource;
use serde_json::{Map, Value, json};
use std::rc::Rc;

/// Stands for all resources, alone or as the last part of a selector.
pub const EVERYTHING: &str = "*";

/// A function that selects resources.
pub(crate) type Select = Rc<dyn Fn(&Resource) -> bool>;

/// Selects the resources that a handler is for: the name of one, up to three parts, the
/// last of which is its name or [`EVERYTHING`], or named parts:
///
/// ```
/// # use kopf::{EVERYTHING, Selector};
/// let selectors: [Selector; 6] = [
///     "kopfexamples".into(),
///     "kopfexamples.v1.kopf.dev".into(),
///     ("kopf.dev/v1", "kopfexamples").into(),
///     ("kopf.dev", "v1", "kopfexamples").into(),
///     ("kopf.dev", EVERYTHING).into(),
///     Selector::new().category("all").group("apps"),
/// ];
/// ```
///
/// See <https://docs.kopf.dev/en/latest/resources/>
#[derive(Clone, Default)]
pub struct Selector {
    parts: Vec<String>,
    wire: Map<String, Value>,
    pub(crate) select: Option<Select>,
}

impl Selector {
    /// Nothing yet: it is to be followed by named parts.
    pub fn new() -> Selector {
        Selector::default()
    }

    /// Asks a function for each resource of the cluster.
    pub fn matching(select: impl Fn(&Resource) -> bool + 'static) -> Selector {
        let mut selector = Selector { select: Some(Rc::new(select)), ..Selector::default() };
        selector.wire.insert("function".to_owned(), true.into());
        selector
    }

    fn of(parts: &[&str]) -> Selector {
        Selector { parts: parts.iter().map(|part| (*part).to_owned()).collect(), ..Selector::default() }
    }

    /// By the API group. An empty one is the core API.
    pub fn group(mut self, group: &str) -> Selector {
        self.wire.insert("group".to_owned(), group.into());
        self
    }

    /// By the version.
    pub fn version(mut self, version: &str) -> Selector {
        self.wire.insert("version".to_owned(), version.into());
        self
    }

    /// By the kind.
    pub fn kind(mut self, kind: &str) -> Selector {
        self.wire.insert("kind".to_owned(), kind.into());
        self
    }

    /// By the plural name.
    pub fn plural(mut self, plural: &str) -> Selector {
        self.wire.insert("plural".to_owned(), plural.into());
        self
    }

    /// By the singular name.
    pub fn singular(mut self, singular: &str) -> Selector {
        self.wire.insert("singular".to_owned(), singular.into());
        self
    }

    /// By a short name.
    pub fn shortcut(mut self, shortcut: &str) -> Selector {
        self.wire.insert("shortcut".to_owned(), shortcut.into());
        self
    }

    /// By a category.
    pub fn category(mut self, category: &str) -> Selector {
        self.wire.insert("category".to_owned(), category.into());
        self
    }

    /// The selector in a message.
    pub(crate) fn wire(&self) -> Map<String, Value> {
        let mut wire = self.wire.clone();
        let mut args: Vec<Value> = self.parts.iter().map(|part| part.as_str().into()).collect();
        if let Some(last) = args.last_mut().filter(|last| **last == EVERYTHING) {
            *last = json!({"$": "EVERYTHING"});
        }
        if !args.is_empty() {
            wire.insert("args".to_owned(), args.into());
        }
        wire
    }
}

impl From<&str> for Selector {
    fn from(name: &str) -> Selector {
        Selector::of(&[name])
    }
}

impl From<(&str,)> for Selector {
    fn from((name,): (&str,)) -> Selector {
        Selector::of(&[name])
    }
}

impl From<(&str, &str)> for Selector {
    fn from((group, name): (&str, &str)) -> Selector {
        Selector::of(&[group, name])
    }
}

impl From<(&str, &str, &str)> for Selector {
    fn from((group, version, name): (&str, &str, &str)) -> Selector {
        Selector::of(&[group, version, name])
    }
}

impl From<&[&str]> for Selector {
    fn from(parts: &[&str]) -> Selector {
        Selector::of(parts)
    }
}
