//! How handlers reach Kubernetes and other servers.

// [want]

use kopf::{ApiError, Capabilities, Change, Error, Request, Value, json};
use std::time::Duration;

kopf::operator! {
    name: "archiver",
    version: "1.0",
    want: Capabilities::new()
        .kubernetes(&[""], &["configmaps", "pods"], &["get", "list", "create", "patch", "delete"])
        .http(&["api.example.com"]),
    handlers: [create, update, remove],
}

// [/want]

// [client]

#[kopf::create("kopfexamples")]
async fn create(c: Change) -> kopf::Result<Value> {
    let mut archive = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("{}-archive", c.name)},
        "data": {"spec": c.spec.to_string()},
    });
    c.owner().adopt(&mut archive)?;
    let made = c.api("v1", "configmaps").apply(&archive).await?;
    Ok(json!({"archive": made["metadata"]["name"]}))
}

// [/client]

// [list]

#[derive(serde::Deserialize)]
struct Pod {
    metadata: Meta,
}

#[derive(serde::Deserialize)]
struct Meta {
    name: String,
}

async fn busy(c: &Change) -> Result<Vec<String>, ApiError> {
    let mut names = Vec::new();
    let mut pods = c.api("v1", "pods").of::<Pod>().list().labels(format!("app={}", c.name));
    while let Some(pod) = pods.next().await? {
        names.push(pod.metadata.name);
    }
    Ok(names)
}

// [/list]

// [errors]

#[kopf::delete("kopfexamples")]
async fn remove(c: Change) -> kopf::Result {
    let archive = format!("{}-archive", c.name);
    match c.api("v1", "configmaps").delete(&archive).await {
        Err(ApiError::NotFound(_)) => Ok(()), // as well
        Err(ApiError::Conflict(_)) => {
            let later = Error::temporary("another writer has just changed it");
            Err(later.delay(Duration::from_secs(1)))
        }
        other => Ok(other?),
    }
}

// [/errors]

// [fetch]

#[kopf::update("kopfexamples")]
async fn update(c: Change) -> kopf::Result<Value> {
    let token = kopf::config("token").unwrap_or_default();
    let request = Request::post("https://api.example.com/v1/archives")
        .header("Authorization", format!("Bearer {token}"))
        .json(json!({"name": c.name, "spec": c.spec}))
        .timeout(Duration::from_secs(5));
    let answer = c.fetch(request).await?;
    if answer.status != 200 {
        return Err(Error::temporary("the archive is closed").delay(Duration::from_secs(60)));
    }
    Ok(json!({"id": answer.json()["id"]}))
}

// [/fetch]

#[cfg(test)]
mod tests {
    use super::create;
    // [archive]

    use kopf::json;
    use kopf::testing::Fixture;

    #[test]
    fn archives() {
        let metadata = json!({"name": "a", "namespace": "default", "uid": "1"});
        let fixture = Fixture::new(json!({"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": metadata}));
        assert_eq!(fixture.run(create).result, json!({"archive": "a-archive"}));
        let archive = fixture.object_at("/api/v1/namespaces/default/configmaps/a-archive");
        assert_eq!(archive["metadata"]["ownerReferences"][0]["name"], "a");
    }

    // [/archive]
}
