//! The kube-rs peer of the benchmarks: one Controller with the default configuration
//! (unbounded concurrency, no debounce) and typed objects. It copies one field of the
//! spec to the status, and keeps the handled essence in an annotation, as Kopf does.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures::StreamExt;
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
    core::{ApiResource, GroupVersionKind, Object},
    runtime::{
        controller::{Action, Controller},
        watcher,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tracing::{info, warn};

/// The annotation with the essence that was handled last.
const LAST_HANDLED: &str = "peers.example.com/last-handled-configuration";

/// The namespace without an argument.
const NAMESPACE: &str = "default";

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Variable {
    name: String,
    value: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Spec {
    field: String,
    #[serde(default)]
    replicas: i64,
    #[serde(default)]
    image: String,
    #[serde(default)]
    env: Vec<Variable>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Status {
    field: String,
}

type Example = Object<Spec, Status>;

/// What Kopf calls so: the part of the object that its user controls.
#[derive(Serialize)]
struct Essence<'a> {
    spec: &'a Spec,
    metadata: EssenceMeta<'a>,
}

#[derive(Serialize)]
struct EssenceMeta<'a> {
    labels: &'a BTreeMap<String, String>,
    annotations: BTreeMap<&'a String, &'a String>,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot serialize: {0}")]
    Json(#[from] serde_json::Error),
    #[error("cannot patch: {0}")]
    Patch(#[from] kube::Error),
}

/// Patches the object, unless its essence is the one that was handled last.
async fn reconcile(object: Arc<Example>, api: Arc<Api<Example>>) -> Result<Action, Error> {
    let annotations = object
        .annotations()
        .iter()
        .filter(|(key, _)| *key != LAST_HANDLED)
        .collect();
    let essence = serde_json::to_string(&Essence {
        spec: &object.spec,
        metadata: EssenceMeta {
            labels: object.labels(),
            annotations,
        },
    })?;
    if object.annotations().get(LAST_HANDLED) == Some(&essence) {
        return Ok(Action::await_change());
    }
    let patch = json!({
        "metadata": {"annotations": {LAST_HANDLED: essence}},
        "status": {"field": object.spec.field},
    });
    api.patch(
        &object.name_any(),
        &PatchParams::default(),
        &Patch::Merge(&patch),
    )
    .await?;
    info!(
        name = object.name_any(),
        field = object.spec.field,
        "handled"
    );
    Ok(Action::await_change())
}

fn error_policy(_: Arc<Example>, error: &Error, _: Arc<Api<Example>>) -> Action {
    warn!(%error, "the reconciliation failed");
    Action::requeue(Duration::from_secs(1))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let client = Client::try_default().await?;
    let kind = GroupVersionKind::gvk("kopf.dev", "v1", "KopfExample");
    let resource = ApiResource::from_gvk_with_plural(&kind, "kopfexamples");
    let namespace = std::env::args().nth(1);
    let namespace = namespace.as_deref().unwrap_or(NAMESPACE);
    let api = Api::<Example>::namespaced_with(client, namespace, &resource);
    Controller::new_with(api.clone(), watcher::Config::default(), resource)
        .shutdown_on_signal()
        .run(reconcile, error_policy, Arc::new(api))
        .for_each(|result| async move {
            if let Err(error) = result {
                warn!(%error, "the controller failed");
            }
        })
        .await;
    Ok(())
}
