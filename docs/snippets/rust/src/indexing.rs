//! Handlers that look at other objects.

use kopf::{Change, Indexed, Keyed, Unkeyed, Value};

// [keyed]

#[kopf::index("pods")]
fn pods_by_node(o: Indexed) -> Keyed {
    Keyed::new().with(&o.spec["nodeName"], &o.name)
}

#[kopf::create("kopfexamples")]
async fn create(c: Change) {
    for pod in c.index("pods_by_node").get(&c.spec["node"]) {
        kopf::info!(c, "a neighbour pod={pod}");
    }
}

// [/keyed]

// [values]

#[kopf::index("kopfexamples")]
fn names(o: Indexed) -> Unkeyed<String> {
    Unkeyed(o.name.clone())
}

#[kopf::update("kopfexamples")]
async fn update(c: Change) {
    kopf::info!(c, "all of us names={:?}", c.index("names").get(Value::Null));
}

// [/values]
