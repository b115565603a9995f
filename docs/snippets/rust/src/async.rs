//! Handlers that wait.

use kopf::{Call, Change, Error};
use std::time::Duration;

// [sleep]

#[kopf::create("kopfexamples")]
async fn create(c: Change) -> kopf::Result {
    c.sleep(Duration::from_secs(30)).await?; // an error: cancelled, the operator exits
    kopf::info!(c, "half a minute later");
    Ok(())
}

// [/sleep]

// [context]

#[kopf::update("kopfexamples")]
async fn update(c: Change) -> kopf::Result {
    poll(&c.call(), 60).await
}

/// It knows nothing of the kind of its handler.
async fn poll(c: &Call, seconds: u32) -> kopf::Result {
    for _ in 0..seconds {
        let pod = c.api("v1", "pods").get("db-0").await?;
        if pod["status"]["phase"] == "Running" {
            return Ok(());
        }
        c.sleep(Duration::from_secs(1)).await?;
    }
    Err(Error::temporary("db-0 does not run yet"))
}

// [/context]
