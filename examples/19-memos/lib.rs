//! Things that are remembered between calls, without writing them to the cluster.

use kopf::{Activity, Event, Timer};

kopf::operator!(prepare, count, report);

#[kopf::startup]
fn prepare(a: Activity) -> kopf::Result {
    Ok(a.memo.set("greeting", "hello")?) // the memo of each object begins as a copy of this one
}

#[kopf::event("kopfexamples")]
fn count(e: Event) -> kopf::Result {
    e.memo.update("events", |old: Option<u32>| old.unwrap_or(0) + 1)?;
    Ok(())
}

#[kopf::timer("kopfexamples", interval = 3)]
fn report(t: Timer) -> kopf::Result {
    let (greeting, events): (Option<String>, Option<u32>) = (t.memo.get("greeting")?, t.memo.get("events")?);
    kopf::info!(t, "{} events={}", greeting.unwrap_or_default(), events.unwrap_or(0));
    Ok(())
}
