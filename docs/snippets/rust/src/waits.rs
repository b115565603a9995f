//! Handlers that wait, and what they return.

use kopf::{Call, Change};
use serde::Serialize;
use std::time::Duration;

// [sleep]

#[kopf::create("kopfexamples")]
async fn create(c: Change) -> kopf::Result {
    c.sleep(Duration::from_secs(30)).await?; // an error: cancelled, the operator exits
    kopf::info!(c, "half a minute later");
    poll(&c.call()).await
}

/// It knows nothing of the kind of its handler.
async fn poll(c: &Call) -> kopf::Result {
    for _ in 0..3 {
        c.sleep(Duration::from_secs(1)).await?;
    }
    Ok(())
}

// [/sleep]

// [results]

/// It is stored as serde writes it.
#[derive(Serialize)]
struct JobStatus {
    name: String,
    nodes: u32,
}

#[kopf::create("kopfexamples")]
async fn job(_: Change) -> kopf::Result<JobStatus> {
    Ok(JobStatus { name: "job-1".to_owned(), nodes: 2 })
}

#[kopf::create("kopfexamples", id = "volumes")]
fn count(_: Change) -> kopf::Result<u32> {
    Ok(3)
}

#[kopf::create("kopfexamples")]
fn nothing(_: Change) {}

// [/results]
