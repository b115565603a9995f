//! Objects that belong to others.

use crate::error::Error;
use crate::patch::nested;
use crate::view::View;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Makes other objects children of an object. That of a handler is
/// [`Object::owner`](crate::Object::owner); elsewhere, see [`Owner::of`].
///
/// ```
/// # use kopf::{Change, json};
/// async fn create_fn(c: Change) -> kopf::Result {
///     let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}});
///     c.owner().adopt(&mut pod)?;
///     Ok(())
/// }
/// ```
///
/// Children are JSON values, any types that [`serde`] can read and write, and lists of
/// them, nested at will. They are changed in place. A type without a field for what its
/// objects get, such as `metadata.ownerReferences`, is an error.
///
/// See <https://docs.kopf.dev/en/latest/hierarchies/>
#[derive(Clone)]
pub struct Owner {
    of: View,
    how: Adoption,
}

/// How children are made, where it is not the usual way: see [`Owner::with`].
#[derive(Clone, Debug, Default)]
pub struct Adoption {
    /// Overwrite labels, names and namespaces that are there.
    pub forced: bool,
    /// Give the very name, instead of one with a random suffix.
    pub strict: bool,
    /// Paths of objects in the children that get the labels too, where they exist. A path is
    /// its keys: `vec!["spec".into(), "template".into()]`, or `"spec.template".keys()` by
    /// [`FieldPath`](crate::FieldPath).
    pub nested: Vec<Vec<String>>,
    /// Labels of the children; `None`: those of the owner.
    pub labels: Option<BTreeMap<String, String>>,
    /// The name of the children; `None`: that of the owner.
    pub name: Option<String>,
    /// The namespace of the children; `None`: that of the owner, `Some(None)`: none.
    pub namespace: Option<Option<String>>,
    /// A flag of the owner reference.
    pub controller: OwnerFlag,
    /// A flag of the owner reference.
    pub block_owner_deletion: OwnerFlag,
}

/// A flag of an owner reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnerFlag {
    /// It is true.
    #[default]
    True,
    /// It is false.
    False,
    /// It is not said.
    Omitted,
}

/// Something that can be children: see [`Owner`].
pub trait Children: Serialize + DeserializeOwned {}

impl<T: Serialize + DeserializeOwned> Children for T {}

type Object = Map<String, Value>;

impl Owner {
    pub(crate) fn new(of: View) -> Owner {
        Owner { of, how: Adoption::default() }
    }

    /// An object as an owner: a JSON value, or any type that [`serde`] can write.
    pub fn of(body: impl Serialize) -> Result<Owner, Error> {
        Ok(Owner::new(View::from(serde_json::to_value(body)?)))
    }

    /// The same owner with another way to make children.
    pub fn with(mut self, how: Adoption) -> Owner {
        self.how = how;
        self
    }

    /// Does all there is to do: adds the owner reference, and gives names, namespaces and
    /// labels to the children that have none.
    ///
    /// Kopf: `kopf.adopt`.
    pub fn adopt<T: Children>(&self, children: &mut T) -> Result<(), Error> {
        each(children, |child| {
            self.append_reference(child)?;
            self.name_child(child)?;
            self.place_child(child)?;
            self.label_child(child)
        })
    }

    /// Makes the children be deleted with the owner.
    ///
    /// Kopf: `kopf.append_owner_reference`.
    pub fn append_owner_reference<T: Children>(&self, children: &mut T) -> Result<(), Error> {
        each(children, |child| self.append_reference(child))
    }

    /// Undoes [`append_owner_reference`](Owner::append_owner_reference).
    ///
    /// Kopf: `kopf.remove_owner_reference`.
    pub fn remove_owner_reference<T: Children>(&self, children: &mut T) -> Result<(), Error> {
        let uid = self.body()?["metadata"]["uid"].clone();
        each(children, |child| {
            owners(child)?.retain(|reference| uid.is_null() || reference["uid"] != uid);
            Ok(())
        })
    }

    /// Adds labels that are not there yet.
    ///
    /// Kopf: `kopf.label`.
    pub fn label<T: Children>(&self, children: &mut T) -> Result<(), Error> {
        each(children, |child| self.label_child(child))
    }

    /// Gives names: the owner's name as a prefix, or the name itself in strict mode.
    ///
    /// Kopf: `kopf.harmonize_naming`.
    pub fn harmonize_naming<T: Children>(&self, children: &mut T) -> Result<(), Error> {
        each(children, |child| self.name_child(child))
    }

    /// Puts the children into the namespace of the owner, which is null if it has none.
    ///
    /// Kopf: `kopf.adjust_namespace`.
    pub fn adjust_namespace<T: Children>(&self, children: &mut T) -> Result<(), Error> {
        each(children, |child| self.place_child(child))
    }

    /// The reference that [`append_owner_reference`](Owner::append_owner_reference) adds, for
    /// children that are made otherwise.
    ///
    /// Kopf: `kopf.build_owner_reference`.
    pub fn reference(&self) -> Result<Value, Error> {
        let mut reference = self.identity(&["apiVersion", "kind", "name", "uid"], |value| !value.is_null())?;
        for (key, flag) in [("controller", self.how.controller), ("blockOwnerDeletion", self.how.block_owner_deletion)]
        {
            if flag != OwnerFlag::Omitted {
                reference.insert(key.to_owned(), Value::Bool(flag == OwnerFlag::True));
            }
        }
        Ok(Value::Object(reference))
    }

    /// A reference to the owner as events have one: `apiVersion`, `kind`, `name`, `uid` and
    /// `namespace`, as far as it has them.
    ///
    /// Kopf: `kopf.build_object_reference`.
    pub fn object_reference(&self) -> Result<Value, Error> {
        self.identity(&["apiVersion", "kind", "name", "uid", "namespace"], is_set).map(Value::Object)
    }

    /// Those of the keys that tell who the owner is, as far as they are wanted.
    fn identity(&self, keys: &[&str], wanted: fn(&Value) -> bool) -> Result<Object, Error> {
        let body = self.body()?;
        let mut identity = Object::new();
        for key in keys {
            let of = if matches!(*key, "apiVersion" | "kind") { body } else { &body["metadata"] };
            if wanted(&of[*key]) {
                identity.insert((*key).to_owned(), of[*key].clone());
            }
        }
        Ok(identity)
    }

    fn body(&self) -> Result<&Value, Error> {
        match self.of.value() {
            Value::Null => Err(Error::permanent("there is no owner: the handler has no object")),
            body => Ok(body),
        }
    }

    fn append_reference(&self, child: &mut Object) -> Result<(), Error> {
        let reference = self.reference()?;
        let owners = owners(child)?;
        if !owners.is_empty() && reference.get("uid").is_none() {
            return Err(Error::permanent("the owner has no uid: its references cannot be distinguished from others"));
        }
        if !owners.iter().any(|other| other["uid"] == reference["uid"]) {
            owners.push(reference);
        }
        Ok(())
    }

    fn name_child(&self, child: &mut Object) -> Result<(), Error> {
        let name = match &self.how.name {
            Some(name) => name.clone(),
            None => match self.body()?["metadata"]["name"].as_str() {
                Some(name) => name.to_owned(),
                None => return Err(Error::permanent("the owner has no name: set one")),
            },
        };
        let meta = part(child, &["metadata"])?;
        let named = ["name", "generateName"].iter().any(|key| meta.get(*key).is_some_and(is_set));
        if named && !self.how.forced {
            return Ok(());
        }
        if self.how.strict {
            meta.insert("name".to_owned(), name.into());
            meta.remove("generateName");
        } else {
            meta.insert("generateName".to_owned(), format!("{name}-").into());
            meta.remove("name");
        }
        Ok(())
    }

    fn place_child(&self, child: &mut Object) -> Result<(), Error> {
        let namespace = match &self.how.namespace {
            Some(namespace) => namespace.clone().into(),
            None => self.body()?["metadata"]["namespace"].clone(),
        };
        let meta = part(child, &["metadata"])?;
        if self.how.forced || !meta.get("namespace").is_some_and(is_set) {
            meta.insert("namespace".to_owned(), namespace);
        }
        Ok(())
    }

    fn label_child(&self, child: &mut Object) -> Result<(), Error> {
        let labels: Object = match &self.how.labels {
            Some(labels) => labels.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect(),
            None => self.body()?["metadata"]["labels"].as_object().cloned().unwrap_or_default(),
        };
        self.add_labels(part(child, &["metadata", "labels"])?, &labels);
        for keys in &self.how.nested {
            let mut path: Vec<&str> = keys.iter().map(String::as_str).collect();
            if exists(child, &path)? {
                path.extend(["metadata", "labels"]);
                self.add_labels(part(child, &path)?, &labels);
            }
        }
        Ok(())
    }

    fn add_labels(&self, present: &mut Object, labels: &Object) {
        for (key, value) in labels {
            if self.how.forced || !present.contains_key(key) {
                present.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Edits children in place, however they are given.
fn each<T: Children>(children: &mut T, mut edit: impl FnMut(&mut Object) -> Result<(), Error>) -> Result<(), Error> {
    let mut value = serde_json::to_value(&*children)?;
    walk(&mut value, &mut edit)?;
    let edited: T = serde_json::from_value(value.clone())?;
    if let Some(place) = lost(&value, &serde_json::to_value(&edited)?) {
        return Err(Error::permanent(format_args!("{place}: the type of the child has no such field")));
    }
    *children = edited;
    Ok(())
}

/// What a type has no place for, such as the reference to the owner: a child without it would never be deleted.
fn lost(wanted: &Value, kept: &Value) -> Option<String> {
    let place = match wanted {
        Value::Object(parts) => parts.iter().find_map(|(key, part)| {
            let below = lost(part, &kept[key.as_str()])?;
            Some(if below.is_empty() { key.clone() } else { format!("{key}.{below}") })
        }),
        Value::Array(items) => items.iter().enumerate().find_map(|(i, item)| lost(item, &kept[i])),
        wanted => (is_set(wanted) && wanted != kept).then(String::new),
    }?;
    Some(if kept.is_null() { String::new() } else { place })
}

/// Walks over lists of any depth.
fn walk(value: &mut Value, edit: &mut dyn FnMut(&mut Object) -> Result<(), Error>) -> Result<(), Error> {
    match value {
        Value::Null => Ok(()),
        Value::Array(items) => items.iter_mut().try_for_each(|item| walk(item, edit)),
        Value::Object(child) => edit(child),
        other => Err(Error::permanent(format_args!("only objects can be children, not {other}"))),
    }
}

/// The map at a path of a child. It is made if it is absent or null.
fn part<'a>(child: &'a mut Object, path: &[&str]) -> Result<&'a mut Object, Error> {
    let keys: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
    for end in 1..=path.len() {
        exists(child, &path[..end])?;
    }
    Ok(nested(child, &keys))
}

/// Whether there is a map at a path of a child. Errors: something else is there.
fn exists(child: &Object, path: &[&str]) -> Result<bool, Error> {
    let mut map = child;
    for (i, key) in path.iter().enumerate() {
        match map.get(*key) {
            None | Some(Value::Null) => return Ok(false),
            Some(Value::Object(inner)) => map = inner,
            Some(_) => {
                let field = path[..=i].join(".");
                return Err(Error::permanent(format_args!("{field} of the child is not an object")));
            }
        }
    }
    Ok(true)
}

/// The owner references of a child.
fn owners(child: &mut Object) -> Result<&mut Vec<Value>, Error> {
    let list = part(child, &["metadata"])?.entry("ownerReferences").or_insert(Value::Null);
    if list.is_null() {
        *list = Value::Array(Vec::new());
    }
    list.as_array_mut().ok_or_else(|| Error::permanent("metadata.ownerReferences of the child is not a list"))
}

fn is_set(value: &Value) -> bool {
    !value.is_null() && *value != ""
}
