use kopf::{Change, Value, json};

#[kopf::create("kopfexamples", id = "createFn")]
async fn create_fn(c: Change) -> kopf::Result<Value> {
    kopf::info!(c, "a new object field={}", c.spec["field"]);
    c.patch.status().set("seen", true);
    Ok(json!({"message": "hello"}))
}

kopf::operator!(create_fn);
