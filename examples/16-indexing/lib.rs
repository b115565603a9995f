//! Handlers that look at other objects without asking the cluster: indices of config maps by
//! their labels, and of all examples.

use kopf::{Change, Indexed, Keyed, PRESENT, Unkeyed, Value, json};

kopf::operator!(by_app, names, create);

#[kopf::index("configmaps", id = "byApp", labels = {"app": PRESENT})]
fn by_app(o: Indexed) -> Keyed {
    Keyed::new().with(&o.labels["app"], &o.name) // several config maps can have one key
}

#[kopf::index("kopfexamples")]
fn names(o: Indexed) -> Unkeyed<String> {
    Unkeyed(o.name.clone())
}

#[kopf::create("kopfexamples")]
fn create(c: Change) -> kopf::Result<Value> {
    let configs = c.index("byApp").get(&c.spec["field"]);
    let examples = c.index("names").get(Value::Null).len();
    kopf::info!(c, "both are complete before any handler runs configs={configs:?} examples={examples}");
    Ok(json!({"configs": configs}))
}
