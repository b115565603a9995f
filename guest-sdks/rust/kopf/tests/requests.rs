//! Requests of handlers, called natively. That the real API is met as well is tested in test/e2e.

use kopf::testing::{ErrorKind, Fixture, Reply};
use kopf::*;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const MAPS: &str = "/api/v1/namespaces/ns1/configmaps";

fn fixture() -> Fixture {
    Fixture::new(json!({"metadata": {"name": "obj1", "namespace": "ns1", "uid": "uid1"}}))
}

#[derive(Debug, Deserialize, Serialize, PartialEq)]
struct ConfigMap {
    metadata: Meta,
    data: Map<String, Value>,
}

#[derive(Debug, Deserialize, Serialize, PartialEq)]
struct Meta {
    name: String,
}

#[test]
fn objects_come_and_go() {
    let fixture = fixture();
    let outcome = fixture.run(async |c: Change| -> kopf::Result {
        let maps = c.api("v1", "configmaps");
        let made = maps.create(&json!({"metadata": {"name": "a"}, "data": {"x": "1"}})).await?;
        assert_eq!(made["metadata"]["resourceVersion"], "1");
        assert!(matches!(maps.create(&made).await, Err(ApiError::AlreadyExists(_))));
        maps.patch("a", &json!({"data": {"x": null, "y": "2"}})).await?;
        let typed: ConfigMap = maps.clone().of().get("a").await?;
        assert_eq!(typed.data["y"], "2");
        maps.apply(&json!({"metadata": {"name": "b", "labels": {"app": "db"}}})).await?;
        maps.update(&ConfigMap { metadata: Meta { name: "a".into() }, data: Map::new() }).await?;
        assert!(matches!(maps.update(&made).await, Err(ApiError::Conflict(_))));
        assert_eq!(maps.list().all().await?.len(), 2);
        let selections: [(&str, &[&str]); 6] = [
            ("app=db", &["b"]),
            ("app==db", &["b"]),
            ("app", &["b"]),
            ("app!=db", &["a"]),
            ("!app", &["a"]),
            ("app!=x,!y", &["a", "b"]),
        ];
        for (labels, names) in selections {
            let found = maps.list().labels(labels).all().await?;
            assert!(found.iter().map(|map| &map["metadata"]["name"]).eq(names), "{labels}: {found:?}");
        }
        let elsewhere = maps.clone().within("ns2");
        elsewhere.create(&json!({"metadata": {"name": "c"}})).await?;
        assert_eq!(maps.clone().everywhere().list().all().await?.len(), 3);
        assert_eq!(maps.list().all().await?.len(), 2);
        assert!(matches!(maps.list().labels("app in (db)").all().await, Err(ApiError::Invalid(_))));
        assert!(matches!(maps.list().fields("metadata.name=b").all().await, Err(ApiError::Invalid(_))));
        maps.delete("a").await?;
        let gone = maps.get("a").await.unwrap_err();
        assert_eq!((gone.status().unwrap().code, gone.to_string().contains("not found")), (404, true));
        let evictions = maps.clone().subresource("eviction");
        evictions.create(&json!({"metadata": {"name": "b"}})).await?;
        assert!(matches!(evictions.create(&json!({"metadata": {"name": "z"}})).await, Err(ApiError::NotFound(_))));
        assert!(matches!(evictions.create(&json!({})).await, Err(ApiError::Request(RequestError::Invalid(_)))));
        let things = c.api("example.com/v1", "things").everywhere(); // without namespaces
        things.create(&json!({"metadata": {"name": "g"}})).await?;
        things.subresource("status").patch("g", &json!({"status": {"ready": true}})).await?;
        Ok(())
    });
    assert_eq!(fixture.object_at("/apis/example.com/v1/things/g")["status"]["ready"], true);
    assert_eq!(outcome.error, None);
    assert_eq!(fixture.object_at(&format!("{MAPS}/a")), Value::Null);
    assert_eq!(fixture.object_at(&format!("{MAPS}/b"))["metadata"]["labels"]["app"], "db");
    let applied = outcome.requests.iter().find(|r| r.path.contains('?')).unwrap();
    assert_eq!(applied.path, format!("{MAPS}/b?fieldManager=kopf"));
    assert_eq!(applied.headers["Content-Type"], ["application/apply-patch+yaml"]);
}

#[test]
fn paths_are_built_of_what_is_said() {
    let outcome = fixture().run(async |c: Change| {
        let scale = c.api("apps/v1", "deployments").within("a/b").subresource("scale");
        let _ = scale.get("x y").await;
        let _ = c.api("v1", "nodes").everywhere().list().labels("a=b,c").fields("metadata.name=ü").page(7).all().await;
        let _ = c.api("v1", "pods").manager("me & you").force_apply(&json!({"metadata": {"name": "p"}})).await;
        let _ = c.api("v1", "pods").patch_json("p", &json!([{"op": "remove", "path": "/x"}])).await;
        let how = DeleteOptions { uid: Some("u".into()), grace_seconds: Some(0), ..DeleteOptions::default() };
        let _ = c.api("v1", "pods").delete_with("p", how).await;
        let _ = c.api("v1", "pods").subresource("eviction").create(&json!({"metadata": {"name": "p"}})).await;
    });
    let said: Vec<_> = outcome.requests.iter().map(|r| format!("{} {}", r.method, r.path)).collect();
    assert_eq!(
        said,
        [
            "GET /apis/apps/v1/namespaces/a%2Fb/deployments/x%20y/scale",
            "GET /api/v1/nodes?limit=7&labelSelector=a%3Db%2Cc&fieldSelector=metadata.name%3D%C3%BC",
            "PATCH /api/v1/namespaces/ns1/pods/p?fieldManager=me%20%26%20you&force=true",
            "PATCH /api/v1/namespaces/ns1/pods/p",
            "DELETE /api/v1/namespaces/ns1/pods/p",
            "POST /api/v1/namespaces/ns1/pods/p/eviction",
        ]
    );
    let options =
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": {"uid": "u"}});
    assert_eq!(outcome.requests[4].body, options);
}

#[test]
fn texts_are_read() {
    let fixture = fixture().respond(|r| {
        let found = r.path == "/api/v1/namespaces/ns1/pods/p/log?container=main&tailLines=2";
        found.then(|| Reply::text(200, "one\n{\"two\": 2}\n"))
    });
    let outcome = fixture.run(async |c: Change| -> kopf::Result {
        let logs = c.api("v1", "pods").subresource("log");
        assert_eq!(logs.text("p", "container=main&tailLines=2").await?, "one\n{\"two\": 2}\n");
        assert!(matches!(logs.text("q", "").await, Err(ApiError::NotFound(_))));
        assert!(matches!(logs.text("", "").await, Err(ApiError::Request(RequestError::Invalid(_)))));
        Ok(())
    });
    assert_eq!(outcome.error, None);
}

#[test]
fn lists_are_read_page_by_page() {
    let fixture = fixture().respond(|r| {
        let second = r.path.ends_with("&continue=next%2F1");
        Some(Reply::json(
            200,
            match second {
                false => json!({"metadata": {"continue": "next/1"}, "items": []}),
                true => json!({"metadata": {}, "items": [{"metadata": {"name": "a"}, "data": {}}, {"data": 5}]}),
            },
        ))
    });
    let outcome = fixture.run(async |c: Change| {
        let mut maps = c.api("v1", "configmaps").of::<ConfigMap>().list();
        assert_eq!(maps.next().await.unwrap().unwrap().metadata.name, "a");
        Err::<(), _>(maps.next().await.unwrap_err())
    });
    let error = outcome.error.unwrap();
    assert_eq!((error.kind, error.type_name.as_str()), (ErrorKind::Permanent, "ApiError"), "it is of another type");
    assert!(error.message.starts_with("data: invalid type: integer `5`"), "{}", error.message);
}

#[test]
fn errors_of_the_api_have_types() {
    let fixture = fixture().respond(|r| {
        let (code, reason) = r.path.rsplit_once('/')?.1.split_once(':')?;
        let status = match reason {
            "none" => Reply::text(code.parse().unwrap(), "<html>"),
            reason => Reply::json(code.parse().unwrap(), json!({"kind": "Status", "reason": reason, "message": "m"})),
        };
        Some(status.header("retry-after", "7"))
    });
    let outcome = fixture.run(async |c: Change| {
        let mut said = Vec::new();
        for name in [
            "404:NotFound",
            "409:AlreadyExists",
            "409:none",
            "403:none",
            "422:Invalid",
            "410:Expired",
            "429:TooManyRequests",
            "500:none",
            "418:Teapot",
        ] {
            let err = c.api("v1", "pods").get(name).await.unwrap_err();
            let name = format!("{err:?}").split('(').next().unwrap().to_owned();
            let status = err.status().unwrap();
            assert_eq!(status.retry_after, Some(Duration::from_secs(7)));
            said.push(format!("{name} {} {}", status.code, err));
        }
        Ok::<_, Error>(said)
    });
    assert_eq!(
        outcome.result,
        json!([
            "NotFound 404 m",
            "AlreadyExists 409 m",
            "Conflict 409 the API answered with the status 409",
            "Forbidden 403 the API answered with the status 403",
            "Invalid 422 m",
            "Expired 410 m",
            "Busy 429 m",
            "Other 500 the API answered with the status 500",
            "Other 418 m",
        ])
    );
}

#[test]
fn servers_answer() {
    let fixture = fixture().respond(|r| match r.path.as_str() {
        "https://x/json" => Some(Reply::json(201, json!({"method": r.method, "sent": r.body, "headers": r.headers}))),
        "https://x/text" => Some(Reply::text(404, "not found")),
        "https://x/slow" => Some(Reply::none("Timeout", "no answer within 1s")),
        _ => None,
    });
    let outcome = fixture.run(async |c: Change| -> kopf::Result {
        let answer = c.fetch(Request::post("https://x/json").json([1]).header("A", "b").header("A", "c")).await?;
        assert_eq!((answer.status, answer.json()["sent"].as_str()), (201, Some("[1]")));
        assert_eq!(answer.json()["headers"], json!({"A": ["b", "c"], "Content-Type": ["application/json"]}));
        let own = Request::post("https://x/json").json([1]).header("content-type", "application/x+json");
        assert_eq!(c.fetch(own).await?.json()["headers"], json!({"content-type": ["application/x+json"]}));
        let binary = c.fetch(Request::new("PUT", "https://x/json").body([0, 255])).await?;
        assert_eq!(binary.json()["sent"], "AP8=");
        let text = c.fetch(Request::get("https://x/text")).await?;
        assert_eq!((text.status, &*text.text(), &*text.json()), (404, "not found", &Value::Null));
        let slow = c.fetch(Request::get("https://x/slow")).await.unwrap_err();
        assert_eq!(slow, RequestError::Timeout("no answer within 1s".to_owned()));
        c.fetch(Request::get("https://y/")).await?;
        Ok(())
    });
    let error = outcome.error.unwrap();
    assert_eq!((error.kind, error.type_name.as_str()), (ErrorKind::Arbitrary, "RequestError"), "{}", error.message);
}

#[test]
fn what_is_not_granted_is_arbitrary() {
    let denied = fixture().respond(|_| Some(Reply::none("NotGranted", "grant it")));
    let outcome = denied.run(async |c: Change| c.api("v1", "pods").get("x").await);
    let error = outcome.error.unwrap();
    assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Arbitrary, "grant it"));
    let nameless = fixture().run(async |c: Change| c.api("v1", "pods").delete("").await);
    assert_eq!(nameless.error.unwrap().message, "DELETE of pods: the object has no name");
    assert!(nameless.requests.is_empty(), "it does not delete the collection");
}
