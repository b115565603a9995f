//! Conversions there and back.

use super::{Fixture, diff};
use crate::conversion::{Conversion, Converted};
use kopf_abi as abi;
use serde::Serialize;
use serde_json::Value;

/// Calls a handler of conversions as a host does, and gives the object afterwards: the whole
/// of it, but of its metadata only labels and annotations are those of the handler.
///
/// Errors: that of the handler.
///
/// # Panics
///
/// The object cannot be written as JSON.
pub fn convert<R: Converted + 'static>(
    from: &str,
    to: &str,
    f: impl AsyncFn(Conversion) -> R + 'static,
    object: impl Serialize,
) -> Result<Value, abi::Error> {
    let before = serde_json::to_value(object).expect("objects of tests can be written as JSON");
    let outcome = Fixture::new(&before).conversion(from, to).run_convert(f);
    if let Some(err) = outcome.error {
        return Err(err);
    }
    let mut after = outcome.result;
    let mut meta = before["metadata"].as_object().cloned().unwrap_or_default();
    for key in ["labels", "annotations"] {
        meta.remove(key);
        if let Some(part) = after["metadata"][key].as_object().filter(|part| !part.is_empty()) {
            meta.insert(key.to_owned(), part.clone().into());
        }
    }
    if let Value::Object(after) = &mut after {
        after.remove("metadata");
        if !meta.is_empty() {
            after.insert("metadata".to_owned(), meta.into());
        }
        after.insert("apiVersion".to_owned(), to.into()); // the group is that of the resource
    }
    Ok(after)
}

/// Checks that objects survive the way to another version and back: a cluster converts them
/// again and again, and what is lost once is lost for ever. Handlers that are not async are
/// given as `async |c| to_v2(c)`.
///
/// ```
/// use kopf::testing::round_trip;
/// use kopf::{Conversion, Value, json};
///
/// fn rename(mut object: Value, old: &str, new: &str) -> Value {
///     let spec = object["spec"].as_object_mut().unwrap();
///     let value = spec.remove(old).unwrap();
///     spec.insert(new.to_owned(), value);
///     object
/// }
///
/// let to_v2 = async |c: Conversion| rename(c.object, "size", "replicas");
/// let to_v1 = async |c: Conversion| rename(c.object, "replicas", "size");
/// round_trip("v1", "v2", to_v2, to_v1, [json!({"spec": {"size": 5}})]);
/// ```
///
/// # Panics
///
/// A conversion fails, or an object has changed: the message says which.
#[track_caller]
pub fn round_trip<R: Converted + 'static, B: Converted + 'static>(
    from: &str,
    to: &str,
    there: impl AsyncFn(Conversion) -> R + Clone + 'static,
    back: impl AsyncFn(Conversion) -> B + Clone + 'static,
    objects: impl IntoIterator<Item = Value>,
) {
    for (i, mut start) in objects.into_iter().enumerate() {
        let middle = match convert(from, to, there.clone(), &start) {
            Ok(middle) => middle,
            Err(err) => panic!("object {i}: from {from} to {to}: {}", err.message),
        };
        let end = match convert(to, from, back.clone(), &middle) {
            Ok(end) => end,
            Err(err) => panic!("object {i}: back from {to} to {from}: {}", err.message),
        };
        if let Value::Object(start) = &mut start {
            start.insert("apiVersion".to_owned(), from.into());
        }
        let differences = diff::diff(&start, &end);
        assert!(start == end, "object {i}: after {from}, {to}, {from} it is {end}; what has changed: {differences}");
    }
}
