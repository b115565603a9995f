//! An operator for KopfExamples that makes the requests of `spec.do`, one after another, and tells
//! in its result how they ended. The configuration chooses what it declares to want (JSON), and
//! what else it registers: daemon, startup.

mod requests;

use kopf::{Activity, Capabilities, Change, Daemon, Error, Handler, KubernetesRule, Operator, Value, json};
use serde::Deserialize;

kopf::operator! {
    name: "caller",
    setup: register,
    handlers: [],
}

fn register(operator: &mut Operator) -> kopf::Result {
    if let Some(want) = kopf::config("want") {
        operator.want(serde_json::from_str::<Want>(&want)?.into());
    }
    operator.add(match kopf::config("register").as_deref() {
        Some("daemon") => Handler::daemon("kopfexamples", daemon).id("daemon").cancellation_timeout(10),
        Some("startup") => Handler::startup(startup).id("startup").retries(1),
        _ => Handler::create("kopfexamples", requests).id("requests").backoff(1),
    });
    Ok(())
}

#[derive(Deserialize)]
struct Want {
    kubernetes: Vec<Rule>,
    http: Vec<String>,
}

#[derive(Deserialize)]
struct Rule {
    groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
}

impl From<Want> for Capabilities {
    fn from(want: Want) -> Capabilities {
        let rule = |Rule { groups, resources, verbs }| KubernetesRule { groups, resources, verbs, namespaces: vec![] };
        let mut all = Capabilities::new();
        all.kubernetes = want.kubernetes.into_iter().map(rule).collect();
        all.http = want.http;
        all
    }
}

async fn requests(c: Change) -> kopf::Result<Value> {
    let mut results = Vec::new();
    for step in c.spec["do"].as_array().into_iter().flatten() {
        let outcome = requests::make(&c.call(), step).await;
        if step["fail"] == true {
            outcome.as_ref().map_err(|err| Error::permanent(err.to_string()))?;
        }
        results.push(requests::outcome(outcome));
    }
    Ok(results.into())
}

/// It makes a request that takes long, and says how it ended.
async fn daemon(d: Daemon) -> kopf::Result<Value> {
    kopf::info!(d, "the daemon asks");
    let outcome = requests::make(&d.call(), &d.spec["do"][0]).await;
    if let Err(requests::Failed::Request(err)) = &outcome {
        kopf::info!(d, "the request of the daemon was cancelled code={} cancelled={}", err.code(), d.stopped());
    }
    Ok(requests::outcome(outcome))
}

async fn startup(a: Activity) -> kopf::Result<Value> {
    let namespace = a.api("v1", "namespaces").get("default").await?;
    Ok(json!({"kind": namespace["kind"]}))
}
