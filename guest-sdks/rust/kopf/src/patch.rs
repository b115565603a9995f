//! Changes of the handled object.

use crate::error::Error;
use crate::task::{Transform, Transforms};
use kopf_abi as abi;
use serde::Serialize;
use serde_json::{Map, Value};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Collects changes of the handled object. They are applied after the handler,
/// together with those of other handlers, also if it failed:
///
/// ```
/// # use kopf::Change;
/// async fn create_fn(c: Change) {
///     c.patch.status().set("ready", true);
///     c.patch.labels().set("app.example.com/seen", "yes");
///     c.patch.part(["spec", "template"]).set("replicas", 3);
/// }
/// ```
///
/// It is a merge patch (RFC 7386): maps are merged, all other values replaced. To
/// change lists by their items, use [`edit`](Patch::edit).
///
/// See <https://docs.kopf.dev/en/latest/patches/>
#[derive(Clone, Default)]
pub struct Patch(Rc<State>);

#[derive(Default)]
struct State {
    root: RefCell<Map<String, Value>>,
    edits: RefCell<Transforms>,
    problem: Cell<Option<Error>>,
}

impl Patch {
    /// The part of the patch for `status`.
    pub fn status(&self) -> Part {
        self.part(["status"])
    }

    /// The part of the patch for `spec`.
    pub fn spec(&self) -> Part {
        self.part(["spec"])
    }

    /// The part of the patch for `metadata`.
    pub fn meta(&self) -> Part {
        self.part(["metadata"])
    }

    /// The part of the patch for labels.
    pub fn labels(&self) -> Part {
        self.part(["metadata", "labels"])
    }

    /// The part of the patch for annotations.
    pub fn annotations(&self) -> Part {
        self.part(["metadata", "annotations"])
    }

    /// The part of the patch at a path of keys; `[]` is the whole. Nothing is patched
    /// before something is set there.
    pub fn part<K: Into<String>>(&self, path: impl IntoIterator<Item = K>) -> Part {
        Part { patch: self.clone(), path: path.into_iter().map(Into::into).collect() }
    }

    /// Merges values into the patch of the whole object.
    pub fn merge(&self, values: impl Serialize) {
        self.part::<String>([]).merge(values);
    }

    /// Adds a function that edits the object in place, for what a merge patch cannot
    /// say. It runs after the handler, and again on a fresh object if another client
    /// changed it meanwhile; so it must look at nothing but its argument:
    ///
    /// ```
    /// # use kopf::{Change, Value, json};
    /// # async fn create_fn(c: Change) {
    /// c.patch.edit(|body: &mut Value| {
    ///     if let Some(list) = body["metadata"]["finalizers"].as_array_mut() {
    ///         list.push(json!("example.com/mine"));
    ///     }
    ///     Ok(())
    /// });
    /// # }
    /// ```
    pub fn edit(&self, change: impl Fn(&mut Value) -> crate::Result<()> + 'static) {
        let mut edits = self.0.edits.borrow_mut();
        edits.list.push(Rc::new(change));
        edits.apply = Some(transformed);
    }

    /// What was set so far.
    pub fn value(&self) -> Value {
        Value::Object(self.0.root.borrow().clone())
    }

    /// The merge patch that was set so far; none if it is empty.
    pub(crate) fn so_far(&self) -> Option<Map<String, Value>> {
        let patch = self.0.root.borrow();
        (!patch.is_empty()).then(|| patch.clone())
    }

    /// The patch, its functions, and what was wrong with it.
    pub(crate) fn take(&self) -> (Map<String, Value>, Transforms, Option<Error>) {
        (self.0.root.take(), self.0.edits.take(), self.0.problem.take())
    }

    fn encode(&self, value: impl Serialize) -> Option<Value> {
        match serde_json::to_value(value) {
            Ok(value) => Some(value),
            Err(err) => {
                self.fail(Error::permanent(err).about("the patch"));
                None
            }
        }
    }

    /// Makes the handler fail, unless it fails itself.
    pub(crate) fn fail(&self, err: Error) {
        self.0.problem.set(Some(err));
    }
}

/// Applies functions to a body, in order. Numbers that they do not change keep their texts: the parser rounds some.
fn transformed(transforms: &[Transform], before: &[u8]) -> crate::Result<Vec<u8>> {
    let mut body = abi::json(before)?;
    for transform in transforms {
        transform(&mut body)?;
    }
    let mut after = Vec::new();
    abi::Field::write(&body, &mut after);
    Ok(abi::keep_numbers(before, &after, is_same))
}

/// Whether the parser makes one number of another one.
pub(crate) fn is_same(old: &[u8], new: &[u8]) -> bool {
    abi::json(old).is_ok_and(|old| old.to_string().as_bytes() == new)
}

/// The part of a patch for a part of the object.
#[derive(Clone)]
pub struct Part {
    patch: Patch,
    path: Vec<String>,
}

impl Part {
    /// Sets the value of a key. Null deletes the key from the object.
    pub fn set(&self, key: impl Into<String>, value: impl Serialize) {
        if let Some(value) = self.patch.encode(value) {
            self.open(|part| {
                part.insert(key.into(), value);
            });
        }
    }

    /// Deletes a key from the object.
    pub fn delete(&self, key: impl Into<String>) {
        self.set(key, Value::Null);
    }

    /// Merges values into the patch: a map, or a struct. Others make the handler fail.
    pub fn merge(&self, values: impl Serialize) {
        match self.patch.encode(values) {
            Some(Value::Object(values)) => self.open(|part| merge(part, values)),
            Some(Value::Null) | None => {}
            Some(_) => {
                self.patch.fail(Error::permanent("the patch: only maps can be merged"));
            }
        }
    }

    /// Changes the map at the path. Maps are made where there are none, and take the
    /// place of other values.
    fn open(&self, change: impl FnOnce(&mut Map<String, Value>)) {
        change(nested(&mut self.patch.0.root.borrow_mut(), &self.path));
    }
}

/// The map at a path of keys.
pub(crate) fn nested<'a>(root: &'a mut Map<String, Value>, path: &[String]) -> &'a mut Map<String, Value> {
    let mut map = root;
    for key in path {
        let inner = map.entry(key.as_str()).or_insert(Value::Null);
        if !inner.is_object() {
            *inner = Value::Object(Map::new());
        }
        let Value::Object(inner) = inner else { unreachable!("it was made one") };
        map = inner;
    }
    map
}

/// Merges a patch into an earlier one.
pub(crate) fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        match value {
            Value::Object(inner) => merge(nested(into, &[key]), inner),
            value => {
                into.insert(key, value);
            }
        }
    }
}
