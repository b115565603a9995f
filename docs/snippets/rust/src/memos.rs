//! What the host remembers between calls.

use kopf::{Activity, Change, Event};

// [object]

#[kopf::event("kopfexamples")]
async fn count(e: Event) -> kopf::Result {
    let events = e.memo.update("events", |old: Option<u32>| old.unwrap_or(0) + 1)?;
    kopf::info!(e, "events so far count={events}");
    Ok(())
}

// [/object]

// [operator]

#[kopf::startup]
fn prepare(a: Activity) -> kopf::Result {
    Ok(a.memo.set("greeting", "hello")?)
}

#[kopf::create("kopfexamples")]
async fn create(c: Change) -> kopf::Result {
    let greeting: Option<String> = c.memo.get("greeting")?; // the object's own copy
    kopf::info!(c, "{}", greeting.unwrap_or_default());
    Ok(c.operator_memo().set("last", &c.name)?)
}

// [/operator]
