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
fn values_of_wrong_types_are_empty() {
    let text = br#"{"id":1,"retry":"x","runtime":[],"field":{"a":[]},"name":["x"],"resource":{"plural":null,"verbs":5},
        "admission":"x","type":null,"logins":[1,"a\u00e9\n"], "handler" : -1 ,"parent":4294967296,"param":{"a":[1.5]}}"#;
    let call: Invocation = read(text).unwrap();
    assert_eq!((call.id.as_str(), call.retry, call.runtime, call.handler, call.parent), ("", 0, 0.0, 0, 0));
    assert!(call.field.is_empty() && call.name.is_empty() && call.event_type.is_none());
    assert_eq!(call.resource.as_deref(), Some(&Resource::default()));
    assert_eq!(call.logins, ["", "aé\n"]);
    assert_eq!(call.param, Some(serde_json::json!({"a": [1.5]})));
}

#[test]
fn broken_messages_are_errors() {
    let text = r#"{"handler":0,"id":"a\"b","later":[{"x":"]"},1],"resource":{"verbs":["get"]},"runtime":1.5}"#;
    assert!(read::<Invocation>(text.as_bytes()).is_ok());
    for cut in 0..text.len() {
        assert!(read::<Invocation>(&text.as_bytes()[..cut]).is_err(), "{}", &text[..cut]);
    }
    for text in ["nonsense", "{]", "{\"a\"}", "{1:2}", "{\"id\":x}", "{} 1", "{\"id\":\"\\x\"}", "{\"param\":[}}"] {
        assert!(read::<Invocation>(text.as_bytes()).is_err(), "{text}");
    }
    assert!(read::<Invocation>(b"{\"id\":\"\xff\"}").is_err());
}

#[test]
fn texts_are_escaped() {
    let id = "\"\\\n\u{1}é{";
    let text = write(Invocation { id: id.to_owned(), ..Invocation::default() });
    assert_eq!(read::<Invocation>(&text).unwrap().id, id);
    assert_eq!(serde_json::from_slice::<Json>(&text).unwrap()["id"], id);
}

#[test]
fn stop_reasons_have_names() {
    assert_eq!(stop_names(0b10_0100), ["resource_deleted", "daemon_signalled"]);
    assert!(stop_names(0).is_empty());
}
