//! Handlers of other kinds.

use kopf::{Activity, Daemon, Event, Indexed, Keyed, PRESENT, Timer, Value, json};
use std::time::Duration;

#[kopf::startup]
pub fn configure(a: Activity) -> kopf::Result {
    a.settings.set("execution.default_backoff", 1);
    a.operator_memo().set("started", "by configure")?;
    Ok(())
}

#[kopf::daemon("kopfexamples", labels = {"watched": PRESENT}, cancellation_timeout = 5)]
pub async fn watch(mut d: Daemon) -> kopf::Result<Value> {
    let mut seen = Vec::new();
    while !d.stopped() {
        assert!(d.spec["panic"] != true, "as asked");
        if seen.last() != Some(&d.spec["size"]) {
            kopf::info!(d, "the size is {}", d.spec["size"]);
            seen.push(d.spec["size"].clone());
        }
        d.wait(Duration::from_millis(200)).await?;
    }
    kopf::info!(d, "stopped: {:?} after {}", d.stop_reasons(), json!(seen));
    Ok(Value::Null)
}

#[kopf::timer("kopfexamples", interval = 0.5, initial_delay = |_| 0.1, labels = {"ticking": PRESENT})]
pub async fn tick(t: Timer) -> kopf::Result<Value> {
    let ticks = t.memo.update("ticks", |old: Option<u32>| old.unwrap_or(0) + 1)?;
    let others = t.index("by_group").get(&t.labels["group"]);
    Ok(json!({
        "ticks": ticks.min(3),
        "group": others.len(),
        "keys": t.index("by_group").len(),
        "started": t.memo.get::<String>("started")?,
        "random": t.rand().below(1),
    }))
}

#[kopf::index("kopfexamples", labels = {"group": PRESENT})]
pub fn by_group(o: Indexed) -> Keyed {
    Keyed::new().with(&o.labels["group"], &o.name)
}

#[kopf::event("kopfexamples", labels = {"spied": PRESENT})]
pub fn spy(e: Event) {
    kopf::info!(e, "event {} of {}", e.event_type.as_deref().unwrap_or("none"), e.raw["object"]["metadata"]["name"]);
}
