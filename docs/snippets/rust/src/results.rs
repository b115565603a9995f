//! What becomes of the results of handlers.

use kopf::Change;
use serde::Serialize;

// [results]

/// It is stored as serde writes it.
#[derive(Serialize)]
struct JobStatus {
    name: String,
}

#[kopf::create("kopfexamples")]
async fn job(_: Change) -> kopf::Result<JobStatus> {
    Ok(JobStatus { name: "job-1".to_owned() })
}

#[kopf::create("kopfexamples", id = "volumes")]
fn count(_: Change) -> kopf::Result<u32> {
    Ok(3)
}

#[kopf::create("kopfexamples")]
fn nothing(_: Change) {}

// [/results]
