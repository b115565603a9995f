//! examples/02-children with kube-rs: it gives each EphemeralVolumeClaim a
//! PersistentVolumeClaim, and shows in its status what becomes of it.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{Patch, PatchParams},
    core::{ApiResource, GroupVersionKind, Object},
    runtime::{
        controller::{Action, Controller},
        watcher,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tracing::warn;

const CLAIM_OF: &str = "ephemeralvolumeclaims.example.com/claim-of"; // a label
const MANAGER: &str = "volumes"; // of fields

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Spec {
    size: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Status {
    phase: Option<String>,
    claim: Option<String>,
}

type Volume = Object<Spec, Status>;

struct Context {
    client: Client,
    resource: ApiResource,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("a volume needs a size")]
    NoSize,
    #[error("the claim cannot be changed: {0}")]
    Refused(#[source] kube::Error),
    #[error(transparent)]
    Kube(#[from] kube::Error),
}

/// It can be repeated: the claim is created, adopted if it exists already, or changed. The
/// cluster deletes it with its owner.
async fn reconcile(volume: Arc<Volume>, context: Arc<Context>) -> Result<Action, Error> {
    if volume.metadata.deletion_timestamp.is_some() {
        return Ok(Action::await_change());
    }
    let (name, namespace) = (volume.name_any(), volume.namespace().unwrap_or_default());
    let size = volume.spec.size.as_ref().ok_or(Error::NoSize)?;
    let mut labels = volume.labels().clone();
    labels.insert(CLAIM_OF.into(), name.clone());
    let claim = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "labels": labels, "ownerReferences": [volume.controller_owner_ref(&context.resource)]},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
    });
    let claims = Api::<PersistentVolumeClaim>::namespaced(context.client.clone(), &namespace);
    let applied = claims.patch(&name, &PatchParams::apply(MANAGER), &Patch::Apply(&claim)).await;
    let applied = applied.map_err(|error| match &error {
        kube::Error::Api(status) if [409, 422].contains(&status.code) => Error::Refused(error),
        _ => Error::Kube(error),
    })?;
    report(&volume, &applied, &context).await?;
    Ok(Action::await_change())
}

/// Shows the phase of the claim in the status of the volume.
async fn report(volume: &Volume, claim: &PersistentVolumeClaim, context: &Context) -> Result<(), kube::Error> {
    let phase = claim.status.as_ref().and_then(|status| status.phase.clone());
    let known = volume.status.as_ref().and_then(|status| status.phase.clone());
    if phase.is_none() || phase == known {
        return Ok(());
    }
    let namespace = volume.namespace().unwrap_or_default();
    let volumes = Api::<Volume>::namespaced_with(context.client.clone(), &namespace, &context.resource);
    let patch = json!({"status": {"phase": phase, "claim": claim.name_any()}});
    match volumes.patch(&volume.name_any(), &PatchParams::default(), &Patch::Merge(&patch)).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()), // its claim follows it
        other => other.map(drop),
    }
}

fn error_policy(volume: Arc<Volume>, error: &Error, _: Arc<Context>) -> Action {
    warn!(name = volume.name_any(), %error, "the reconciliation failed");
    match error {
        Error::NoSize | Error::Refused(_) => Action::await_change(),
        Error::Kube(_) => Action::requeue(Duration::from_secs(60)),
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let client = Client::try_default().await?;
    let namespace = std::env::var("NAMESPACE")?;
    let kind = GroupVersionKind::gvk("example.com", "v1", "EphemeralVolumeClaim");
    let resource = ApiResource::from_gvk_with_plural(&kind, "ephemeralvolumeclaims");
    let volumes = Api::<Volume>::namespaced_with(client.clone(), &namespace, &resource);
    let claims = Api::<PersistentVolumeClaim>::namespaced(client.clone(), &namespace);
    let context = Context { client, resource: resource.clone() };
    Controller::new_with(volumes, watcher::Config::default(), resource)
        .owns(claims, watcher::Config::default())
        .shutdown_on_signal()
        .run(reconcile, error_policy, Arc::new(context))
        .for_each(|result| async move {
            if let Err(error) = result {
                warn!(%error, "the controller failed");
            }
        })
        .await;
    Ok(())
}
