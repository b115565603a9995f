//! Gives each EphemeralVolumeClaim a PersistentVolumeClaim, and shows in its status what becomes of it.

use kopf::{ApiError, Capabilities, Change, Error, Event, PRESENT, Value, json};

const CLAIM_OF: &str = "ephemeralvolumeclaims.example.com/claim-of"; // a label

kopf::operator! {
    name: "volumes",
    version: "1.0",
    want: Capabilities::new()
        .kubernetes(&[""], &["persistentvolumeclaims"], &["create", "patch"])
        .kubernetes(&["example.com"], &["ephemeralvolumeclaims"], &["patch"]),
    handlers: [apply_claim, report_phase],
}

/// It can be repeated: the claim is created, adopted if it is there already, or changed. The
/// cluster deletes it with its owner.
#[kopf::create("ephemeralvolumeclaims", id = "applyClaim")]
#[kopf::update("ephemeralvolumeclaims", id = "applyClaim")]
async fn apply_claim(c: Change) -> kopf::Result<Value> {
    let Some(size) = c.spec["size"].as_str() else {
        return Err(Error::permanent("a volume needs a size"));
    };
    let mut labels = c.labels.value().clone();
    labels[CLAIM_OF] = json!(c.name);
    let mut claim = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": c.name, "labels": labels},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
    });
    c.owner().adopt(&mut claim)?;
    match c.api("v1", "persistentvolumeclaims").apply(&claim).await {
        Ok(applied) => Ok(json!({"claim": applied["metadata"]["name"]})),
        Err(err @ ApiError::Invalid(_)) => Err(Error::permanent("the claim cannot be changed").because(err)),
        Err(err @ ApiError::Conflict(_)) => {
            Err(Error::permanent("another manager owns the claim of this name").because(err))
        }
        Err(err) => Err(err.into()),
    }
}

/// It is called when a claim changes, or comes into sight at the start.
#[kopf::event("persistentvolumeclaims", labels = {CLAIM_OF: PRESENT}, id = "reportPhase")]
async fn report_phase(e: Event) -> kopf::Result {
    let (Some(owner), Some(phase)) = (e.labels[CLAIM_OF].as_str(), e.status.get("phase")) else {
        return Ok(());
    };
    if e.event_type.as_deref() == Some("DELETED") {
        return Ok(());
    }
    let volumes = e.api("example.com/v1", "ephemeralvolumeclaims");
    match volumes.patch(owner, &json!({"status": {"phase": phase}})).await {
        Err(ApiError::NotFound(_)) => Ok(()), // it is gone, and the claim will follow
        other => Ok(drop(other?)),
    }
}
