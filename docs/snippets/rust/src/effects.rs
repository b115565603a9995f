//! What handlers do.

use kopf::{Change, Timer, json};

// [patches]

#[kopf::create("kopfexamples")]
async fn patched(c: Change) {
    c.patch.status().set("phase", "Active");
    c.patch.labels().set("app.example.com/seen", "yes");
    c.patch.annotations().delete("obsolete");
    c.patch.part(["spec", "template"]).merge(json!({"replicas": 3}));
    c.patch.edit(|body| {
        if let Some(list) = body["spec"]["zones"].as_array_mut() {
            list.retain(|zone| zone != "gone");
        }
        Ok(())
    });
}

// [/patches]

// [memos]

#[kopf::timer("kopfexamples", interval = 60)]
async fn counted(t: Timer) -> kopf::Result<u32> {
    let ticks = t.memo.update("ticks", |old: Option<u32>| old.unwrap_or(0) + 1)?;
    t.memo.set("latest", &t.spec["size"])?; // the last write wins
    Ok(ticks)
}

// [/memos]

// [events]

#[kopf::create("kopfexamples")]
async fn posted(c: Change) -> kopf::Result {
    c.events.info("Created", "all is well")?;
    if let Err(err) = c.spec["size"].to_string().parse::<u32>() {
        c.events.exception(&err, "BadSize", "the size:")?;
    }
    Ok(())
}

// [/events]

// [hierarchies]

#[kopf::create("kopfexamples")]
async fn with_child(c: Change) -> kopf::Result {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": []}});
    c.owner().adopt(&mut pod)?; // owner reference, name, namespace, labels
    kopf::info!(c, "{pod}");
    Ok(())
}

// [/hierarchies]
