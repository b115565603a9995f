//! A small cluster in memory. It knows objects by their paths and nothing of their kinds: it
//! checks no schema, and its server-side apply is a merge that owns nothing.

use super::requests::{Reply, Requested};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Cluster {
    objects: BTreeMap<String, Value>,
    version: u64,
}

impl Cluster {
    /// The object of a path; null if there is none.
    pub fn object(&self, path: &str) -> Value {
        self.objects.get(path).cloned().unwrap_or_default()
    }

    /// Gives an object a new version.
    pub fn store(&mut self, path: &str, mut object: Value) -> Reply {
        self.version += 1;
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.objects.insert(path.to_owned(), object.clone());
        Reply::json(200, object)
    }

    pub fn serve(&mut self, r: &Requested) -> Reply {
        let (path, query) = r.path.split_once('?').unwrap_or((&r.path, ""));
        let is_part = match depth(path) {
            3 => !path.contains("/namespaces/"),
            depth => depth == 5,
        };
        // Here, a subresource is the object itself.
        let path = path.rsplit_once('/').filter(|_| is_part).map_or(path, |(object, _)| object);
        let is_collection = depth(path) % 2 == 1;
        let applies = r.headers.get("Content-Type").is_some_and(|types| types == &["application/apply-patch+yaml"]);
        match (r.method.as_str(), self.objects.get(path)) {
            ("POST", _) if !is_part => self.create(path, r.body.clone()),
            ("GET", _) if is_collection => self.list(path, query),
            ("PATCH", current) if r.body.is_object() && (applies || current.is_some()) => {
                let mut object = current.cloned().unwrap_or_else(|| json!({}));
                merge(&mut object, &r.body);
                self.store(path, object)
            }
            (_, None) => Reply::failed(404, "NotFound", &format!("{path} not found")),
            ("GET", Some(object)) => Reply::json(200, object),
            ("POST", Some(_)) => Reply::json(201, &r.body), // an eviction, for example: it has no effect here
            ("DELETE", Some(object)) => {
                let reply = Reply::json(200, object);
                self.objects.remove(path);
                reply
            }
            ("PUT", Some(object)) => {
                let version = &r.body["metadata"]["resourceVersion"];
                if !version.is_null() && *version != object["metadata"]["resourceVersion"] {
                    return Reply::failed(409, "Conflict", &format!("{path} has been modified"));
                }
                self.store(path, r.body.clone())
            }
            ("PATCH", _) => Reply::failed(415, "UnsupportedMediaType", "JSON patches: see Fixture::respond"),
            (method, _) => Reply::failed(405, "MethodNotAllowed", method),
        }
    }

    fn create(&mut self, path: &str, mut object: Value) -> Reply {
        let meta = &mut object["metadata"];
        if let (None, Some(prefix)) = (meta["name"].as_str(), meta["generateName"].as_str()) {
            meta["name"] = format!("{prefix}{}", self.version + 1).into();
        }
        let Some(name) = meta["name"].as_str() else {
            return Reply::failed(422, "Invalid", "the object has no name");
        };
        let path = format!("{path}/{name}");
        if self.objects.contains_key(&path) {
            return Reply::failed(409, "AlreadyExists", &format!("{path} already exists"));
        }
        self.store(&path, object)
    }

    /// Lists a collection, as far as a selector of labels selects it.
    fn list(&self, path: &str, query: &str) -> Reply {
        let labels = query.split('&').find_map(|part| part.strip_prefix("labelSelector=")).unwrap_or_default();
        if labels.contains("%28") || query.contains("fieldSelector=") {
            return Reply::failed(400, "BadRequest", "the fixture does not know this selector: see Fixture::respond");
        }
        let labels = labels.replace("%3D", "=").replace("%2C", ",").replace("%2F", "/").replace("%21", "!");
        let found = self.objects.iter().filter(|(other, object)| is_in(other, path) && is_selected(object, &labels));
        let items: Vec<&Value> = found.map(|(_, object)| object).collect();
        Reply::json(200, json!({"kind": "List", "metadata": {}, "items": items}))
    }
}

/// Whether an object is in a collection: that of its namespace, or that of all namespaces.
fn is_in(object: &str, collection: &str) -> bool {
    let parent = object.rsplit_once('/').map_or(object, |(parent, _)| parent);
    let (root, plural) = collection.rsplit_once('/').unwrap_or_default();
    let within = parent.strip_prefix(root).and_then(|rest| rest.strip_prefix("/namespaces/"));
    parent == collection || within.is_some_and(|within| within.split_once('/').is_some_and(|(_, rest)| rest == plural))
}

/// Understands `app=db`, `app==db`, `app!=db`, `app`, and `!app`.
fn is_selected(object: &Value, selector: &str) -> bool {
    let labels = &object["metadata"]["labels"];
    selector.split(',').filter(|term| !term.is_empty()).all(|term| {
        let (key, value) = match term.split_once('=') {
            Some((key, value)) => (key, Some(value.trim_start_matches('='))),
            None => (term, None),
        };
        let label = &labels[key.trim_matches('!')];
        let fits = if let Some(value) = value { label == value } else { !label.is_null() };
        fits != key.contains('!')
    })
}

/// The number of segments of a path after that of its version: a collection has 1 or 3 of
/// them (with a namespace), an object 2 or 4.
fn depth(path: &str) -> usize {
    let segments = path.trim_matches('/').split('/').count();
    segments.saturating_sub(if path.starts_with("/apis/") { 3 } else { 2 })
}

/// Merges a patch (RFC 7386).
fn merge(into: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        into.clone_from(patch);
        return;
    };
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    let Some(into) = into.as_object_mut() else { return };
    for (key, value) in patch {
        if value.is_null() {
            into.remove(key);
        } else {
            merge(into.entry(key.as_str()).or_insert(Value::Null), value);
        }
    }
}
