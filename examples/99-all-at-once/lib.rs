//! The features of the other examples in one operator.

use kopf::{Activity, Adoption, Capabilities, Cause, Change, Daemon, Error, Indexed, Timer, Unkeyed, Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

kopf::operator! {
    want: Capabilities::new().kubernetes(&[""], &["configmaps"], &["create"]),
    handlers: [
        prepare, prepare_late, clean_up, copies, first_step, second_step, copy, each_item, update_fn,
        items_changed, watch, count, delete_fn,
    ],
}

const HALF: Duration = Duration::from_millis(500);

#[kopf::startup]
async fn prepare(a: Activity) -> kopf::Result {
    a.sleep(HALF).await?;
    kopf::info!(a, "prepared");
    Ok(())
}

#[kopf::startup]
fn prepare_late(a: Activity) -> kopf::Result {
    if a.retry < 2 {
        return Err(Error::temporary("not yet").delay(HALF));
    }
    Ok(a.memo.set("prepared", &true)?)
}

#[kopf::cleanup]
async fn clean_up(a: Activity) -> kopf::Result {
    a.sleep(HALF).await?;
    kopf::info!(a, "cleaned up");
    Ok(())
}

#[kopf::index("configmaps", labels = {"made-by": "example"})]
fn copies(o: Indexed) -> Unkeyed<String> {
    Unkeyed(o.name.clone())
}

#[kopf::create("kopfexamples")]
fn first_step(c: Change) -> kopf::Result<Value> {
    c.events.info("Begun", "the first step")?;
    c.events.post("Warning", "Slow", "it may take some seconds")?;
    let prepared: Option<bool> = c.memo.get("prepared")?;
    Ok(json!({"prepared": prepared}))
}

#[kopf::create("kopfexamples", backoff = 1)]
fn second_step(c: Change) -> Result<Value, std::io::Error> {
    if c.retry == 0 {
        return Err(std::io::Error::other("the first attempt fails"));
    }
    Ok(json!({"attempts": c.retry + 1}))
}

#[kopf::create("kopfexamples")]
async fn copy(c: Change) -> kopf::Result<Value> {
    let name = format!("{}-copy", c.name);
    let mut child = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"field": c.spec["field"].as_str().unwrap_or_default()},
    });
    let mut labels: BTreeMap<String, String> = c.labels.decode()?;
    labels.insert("made-by".to_owned(), "example".to_owned());
    c.owner().with(Adoption { labels: Some(labels), ..Adoption::default() }).adopt(&mut child)?;
    c.api("v1", "configmaps").create(&child).await?;
    Ok(json!({"child": name}))
}

#[kopf::create("kopfexamples")]
fn each_item(c: Change) {
    for item in c.spec["items"].as_array().into_iter().flatten().filter_map(|item| item.as_str()) {
        let loud = item.to_uppercase();
        c.sub(item, async move |_: Change| -> kopf::Result<String> { Ok(loud.clone()) });
    }
}

#[kopf::update("kopfexamples")]
fn update_fn(c: Change) -> kopf::Result<Value> {
    Ok(c.diff().iter().map(|item| json!([item.op, item.path.join("."), item.old, item.new])).collect())
}

#[kopf::field("kopfexamples", field = "spec.items")]
fn items_changed(c: Change) -> kopf::Result<Value> {
    let length = |value: &Value| value.as_array().map_or(0, Vec::len);
    Ok(json!({"before": length(&c.old), "after": length(&c.new)}))
}

#[kopf::daemon("kopfexamples", labels = {"watched": "yes"})]
async fn watch(mut d: Daemon) -> kopf::Result {
    while !d.wait(HALF).await? {
        let found = d.index("copies").get(Value::Null);
        if !found.is_empty() {
            d.patch.status().set("copies", found);
            break;
        }
    }
    Ok(())
}

fn is_uncounted(c: &Cause) -> bool {
    c.status.get("copies").is_some() && c.status.get("counted").is_none()
}

#[kopf::timer("kopfexamples", interval = 1, when = is_uncounted)]
fn count(t: Timer) {
    t.patch.status().set("counted", t.status["copies"].as_array().map_or(0, Vec::len));
}

#[kopf::delete("kopfexamples")]
fn delete_fn(c: Change) {
    kopf::info!(c, "good-bye");
}
