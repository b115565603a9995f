//! Handlers that declare others while they run.

use kopf::{Change, Handler, Value};

// [sub]

#[kopf::create("kopfexamples")]
async fn create(c: Change) {
    for (name, volume) in c.spec["volumes"].as_object().into_iter().flatten() {
        let volume = volume.clone();
        c.declare(Handler::sub(name, async move |c: Change| mount(&c, &volume)).retries(5));
    }
} // the sub-handlers run now

// [/sub]

fn mount(c: &Change, volume: &Value) {
    kopf::info!(c, "mounted {volume}");
}

// [execute]

#[kopf::update("kopfexamples")]
async fn update(c: Change) -> kopf::Result {
    let prepare = Handler::sub("prepare", async |c: Change| kopf::info!(c, "preparing"));
    let migrate = Handler::sub("migrate", async |c: Change| kopf::info!(c, "migrating"));
    c.execute([prepare, migrate]).await?; // an error, to be called again, unless it is all done
    kopf::info!(c, "both are finished"); // logged once
    Ok(())
}

// [/execute]
