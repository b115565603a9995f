//! Conversions, called natively.

use kopf::testing::{self, ErrorKind, round_trip};
use kopf::{Conversion, Error, Value, json};

#[kopf::convert("widgets.example.com", from = "v1", to = "v2")]
fn up(mut c: Conversion) -> kopf::Result<Value> {
    let size = c.object["spec"]["size"].take();
    if size == "unknown" {
        return Err(Error::permanent("an unknown size"));
    }
    c.object["spec"] = json!({"replicas": size});
    c.object["metadata"] = json!({"name": "other", "annotations": {"was": c.from, "is": c.to}});
    Ok(c.object)
}

fn down(mut c: Conversion) -> Value {
    c.object["spec"] = json!({"size": c.object["spec"]["replicas"]});
    c.object["metadata"]["annotations"] = json!({});
    c.object
}

#[test]
fn conversions_are_those_of_a_host() {
    let object = json!({"kind": "Widget", "metadata": {"name": "w", "labels": {"a": "b"}}, "spec": {"size": 5}});
    let converted = testing::convert("v1", "v2", async |c| up(c), object).unwrap();
    let meta = json!({"name": "w", "annotations": {"was": "v1", "is": "v2"}});
    assert_eq!(converted, json!({"apiVersion": "v2", "kind": "Widget", "metadata": meta, "spec": {"replicas": 5}}));
    let refused = testing::convert("v1", "v2", async |c| up(c), json!({"spec": {"size": "unknown"}})).unwrap_err();
    assert_eq!((refused.kind, refused.message.as_str()), (ErrorKind::Permanent, "an unknown size"));
    round_trip("v1", "v2", async |c| up(c), async |c| down(c), [json!({"spec": {"size": 5}})]);
}

#[test]
#[should_panic(expected = r#"what has changed: [["remove",["spec","zone"],"a",null]]"#)]
fn a_loss_is_found() {
    round_trip("v1", "v2", async |c| up(c), async |c| down(c), [json!({"spec": {"size": 5, "zone": "a"}})]);
}

#[test]
#[should_panic(expected = "object 0: from v1 to v2: an unknown size")]
fn a_failed_conversion_is_told() {
    round_trip("v1", "v2", async |c| up(c), async |c| down(c), [json!({"spec": {"size": "unknown"}})]);
}
