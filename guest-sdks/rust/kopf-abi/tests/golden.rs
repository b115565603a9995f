//! The golden messages of the ABI: each is read into its type, and written again as
//! it was.

use kopf_abi::*;
use serde_json::Value as Json;
use std::path::Path;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../abi/testdata/v1");

fn again<T: Field>(text: &str) -> Json {
    let message = read::<T>(text.as_bytes()).expect("it is JSON");
    serde_json::from_slice(&write(message)).expect("it is JSON")
}

fn through(message: &str, text: &str) -> Json {
    match message {
        "RegisterRequest" => again::<RegisterRequest>(text),
        "Registration" => again::<Registration>(text),
        "Invocation" => again::<Invocation>(text),
        "Questions" => again::<Questions>(text),
        "Answers" => again::<Answers>(text),
        "Step" => again::<Step>(text),
        "Answer" => again::<Answer>(text),
        "TransformResult" => again::<TransformResult>(text),
        "Event" => again::<Event>(text),
        other => panic!("there is no type of {other}"),
    }
}

/// Null fields mean the same as absent ones, but for delays; and 1.0 is 1 in JSON.
fn normal(value: Json) -> Json {
    match value {
        Json::Object(map) => map
            .into_iter()
            .filter(|(key, value)| !value.is_null() || key == "delay")
            .map(|(key, value)| (key, normal(value)))
            .collect(),
        Json::Array(list) => list.into_iter().map(normal).collect(),
        Json::Number(number) => number.as_f64().into(),
        other => other,
    }
}

#[test]
fn golden_messages_are_read_and_written() {
    let mut count = 0;
    for entry in std::fs::read_dir(FOLDER).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue; // the transcript of a whole invocation is for authors of SDKs
        }
        let name = Path::new(path.file_name().unwrap()).to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let written = through(name.split('.').next().unwrap(), &text);
        assert_eq!(normal(written), normal(serde_json::from_str(&text).unwrap()), "{name}");
        count += 1;
    }
    assert!(count > 30, "only {count} golden messages");
}

#[test]
fn unknown_fields_are_ignored() {
    let call: Invocation = read(br#"{"id":"fn","later":{"x":1}}"#).unwrap();
    assert_eq!(call.id, "fn");
}

#[test]
fn stop_reasons_have_names() {
    assert_eq!(stop_names(0b10_0100), ["resource_deleted", "daemon_signalled"]);
    assert!(stop_names(0).is_empty());
}
