//! Handlers of all kinds, called natively.

use kopf::testing::{ErrorKind, Fixture};
use kopf::*;
use serde::Deserialize;
use std::time::Duration;

fn body() -> Value {
    json!({
        "apiVersion": "kopf.dev/v1", "kind": "KopfExample",
        "metadata": {"name": "obj1", "namespace": "ns1", "uid": "uid1", "labels": {"app": "web"}},
        "spec": {"size": 5, "zones": ["a"]},
    })
}

#[derive(Deserialize)]
struct Sized {
    size: u32,
}

#[kopf::create("kopfexamples")]
async fn doubled(c: Change<Sized>) -> kopf::Result<u32> {
    c.patch.status().set("size", c.spec.size);
    c.patch.labels().delete("app");
    Ok(c.spec.size * 2)
}

#[test]
fn results_and_patches() {
    let outcome = Fixture::new(body()).run(doubled);
    assert_eq!(outcome.result, 10);
    assert_eq!(outcome.patch, json!({"status": {"size": 5}, "metadata": {"labels": {"app": null}}}));
    assert_eq!(outcome.error, None);
}

#[test]
fn a_spec_that_does_not_fit() {
    let outcome = Fixture::new(json!({"metadata": {"name": "x"}, "spec": {"size": "5"}})).run(doubled);
    let error = outcome.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Permanent);
    assert_eq!(error.message, r#"spec.size: invalid type: string "5", expected u32"#);
    assert_eq!(outcome.patch, Value::Null, "the handler did not run");
    assert_eq!(
        (outcome.events[0].reason.as_str(), outcome.events[0].message.as_str()),
        ("DecodeError", error.message.as_str())
    );
}

#[test]
fn views_are_what_the_handler_expects() {
    let outcome =
        Fixture::new(body()).retry(2).param(json!([1])).runtime(Duration::from_secs(3)).run(async |c: Change| {
            assert_eq!((c.name.as_str(), c.namespace.as_deref(), c.uid.as_str()), ("obj1", Some("ns1"), "uid1"));
            assert_eq!((c.retry, c.runtime, &c.param), (2, Duration::from_secs(3), &json!([1])));
            assert_eq!(c.labels, json!({"app": "web"}));
            assert_eq!(c.annotations, json!({}), "absent parts are empty");
            assert_eq!(c.status, json!({}));
            assert_eq!(c.spec.part("zones").decode::<Vec<String>>().unwrap(), ["a"]);
            assert_eq!(c.old, Value::Null);
            assert_eq!(c.new["metadata"], json!({"labels": {"app": "web"}}));
            assert_eq!(c.diff().len(), 1);
        });
    assert_eq!(outcome.error, None);
}

#[test]
fn differences() {
    let old = json!({"spec": {"size": 4, "gone": true, "zones": ["a"]}, "metadata": {"labels": {"app": "web"}}});
    let outcome = Fixture::new(body()).old(old).run(async |c: Change| {
        assert_eq!(c.reason, "update");
        Ok::<_, Error>(c.diff().into_iter().map(|d| (d.op, d.path.join("."), d.old, d.new)).collect::<Vec<_>>())
    });
    assert_eq!(outcome.result, json!([["remove", "spec.gone", true, null], ["change", "spec.size", 4, 5]]));
}

#[test]
fn a_field_narrows_the_states() {
    let old = json!({"spec": {"size": 4}});
    for (field, want) in [("spec.size", json!([4, 5, 1])), ("spec.other", json!([null, null, 0]))] {
        let outcome = Fixture::new(body()).old(old.clone()).field(field).run(async |c: Change| {
            let changes = c.diff().len();
            Ok::<_, Error>(json!([c.old, c.new, changes]))
        });
        assert_eq!(outcome.result, want);
    }
}

#[test]
fn errors_keep_their_meaning() {
    let run = |kind: &'static str| {
        Fixture::new(body()).run(async move |c: Change| -> kopf::Result {
            c.patch.status().set("tried", true);
            match kind {
                "temporary" => Err(Error::temporary("later").delay(Duration::from_secs(5)))?,
                "permanent" => Err(Error::permanent("never"))?,
                _ => drop("x".parse::<u8>()?),
            }
            Ok(())
        })
    };
    for (kind, want) in
        [("temporary", ErrorKind::Temporary), ("permanent", ErrorKind::Permanent), ("", ErrorKind::Arbitrary)]
    {
        let outcome = run(kind);
        assert_eq!(outcome.error.unwrap().kind, want);
        assert_eq!(outcome.patch, json!({"status": {"tried": true}}), "patches of failed handlers count");
    }
}

#[test]
fn sub_handlers_of_any_depth() {
    let outcome = Fixture::new(body()).run(async |c: Change| {
        c.sub("a", async |c: Change| c.sub("b", async |c: Change| Ok::<_, Error>(c.id.clone())));
    });
    assert_eq!(outcome.children["test/a"].children["test/a/b"].result, "test/a/b");

    let executed = Fixture::new(body()).run(async |c: Change| -> kopf::Result<&str> {
        let bad = Handler::sub("bad", async |_: Change| Err::<(), _>(Error::permanent("never")));
        c.execute([bad, Handler::sub("good", async |c: Change| kopf::info!(c, "running"))]).await?;
        Ok("went on")
    });
    assert_eq!(executed.result, "went on", "those that failed for good count as finished");
    assert_eq!(executed.logs, [(20, "running".to_owned())]);

    let pending = Fixture::new(body()).run(async |c: Change| {
        let ignored =
            c.execute([Handler::sub("later", async |_: Change| Err::<(), _>(Error::temporary("later")))]).await;
        drop(ignored);
    });
    assert_eq!(pending.error.unwrap().kind, ErrorKind::Children, "also if the handler overlooks it");
}

/// What closures set in the patch of their parent, whose last step is over, is in theirs.
#[test]
fn sub_handlers_share_the_patch() {
    let outcome = Fixture::new(body()).run(async |c: Change| {
        let patch = c.patch.clone();
        patch.part(["status", "x"]).set("a", 1);
        c.sub("a", async move |own: Change| {
            patch.part(["status", "x"]).set("b", 2);
            own.patch.spec().set("y", 3);
            let patch = patch.clone();
            own.sub("b", async move |_: Change| {
                patch.status().delete("z");
                patch.edit(|body| {
                    body["edited"] = json!(true);
                    Ok(())
                });
            });
        });
    });
    let child = &outcome.children["test/a"];
    let grandchild = &child.children["test/a/b"];
    assert_eq!(outcome.patch, json!({"status": {"x": {"a": 1}}}));
    assert_eq!(child.patch, json!({"spec": {"y": 3}, "status": {"x": {"b": 2}}}));
    assert_eq!(grandchild.patch, json!({"status": {"z": null}}));
    assert_eq!(grandchild.edited.as_ref().unwrap()["edited"], true);
}

/// Sub-handlers may hold the argument of their parent, which holds them until the parent is done.
#[test]
fn sub_handlers_of_failures_are_forgotten() {
    let kept = std::rc::Rc::new(());
    let held = kept.clone();
    let outcome = Fixture::new(body()).run(async move |c: Change| -> kopf::Result {
        let parent = (c.clone(), held.clone());
        c.sub("never", async move |_: Change| drop(parent.clone()));
        Err(Error::temporary("later"))
    });
    assert_eq!(outcome.error.unwrap().message, "later");
    assert_eq!(std::rc::Rc::strong_count(&kept), 1);
}

#[test]
fn daemons_wait_and_stop() {
    let outcome = Fixture::new(body()).stop_after(3).run(async |mut d: Daemon<Sized>| -> kopf::Result<String> {
        while !d.stopped() {
            assert_eq!(d.spec.size, 5);
            d.wait(Duration::from_secs(10)).await?;
        }
        Ok(d.stop_reasons().join(","))
    });
    assert_eq!(outcome.result, "daemon_signalled");
    assert_eq!(outcome.waits, [Duration::from_secs(10); 3]);
}

/// What a daemon has seen is gone after the next wait.
#[test]
fn daemons_wait_for_years() {
    let outcome = Fixture::new(body()).run(async |mut d: Daemon| -> kopf::Result<u64> {
        for round in 0..20_000 {
            if round % 2 == 0 {
                assert_eq!(d.spec["size"], 5);
            }
            d.wait(Duration::from_secs(600)).await?;
        }
        Ok(d.spec["size"].as_u64().unwrap_or_default())
    });
    assert_eq!(outcome.result, 5);
}

#[test]
fn one_thing_is_awaited_at_a_time() {
    let foreign = Fixture::new(body()).run(async |_: Change| std::future::pending::<()>().await);
    assert!(foreign.error.unwrap().message.contains("not of this SDK"));
    let twice = Fixture::new(body()).run(async |c: Change| {
        let (mut a, mut b) = (Box::pin(c.sleep(Duration::ZERO)), Box::pin(c.sleep(Duration::ZERO)));
        std::future::poll_fn(|cx| {
            let _ = (a.as_mut().poll(cx), b.as_mut().poll(cx));
            std::task::Poll::<()>::Pending
        })
        .await;
    });
    assert!(twice.error.unwrap().message.contains("several things at once"));
}

#[test]
fn memos_indices_and_random_numbers() {
    let fixture = Fixture::new(body()).memo("count", 1).operator_memo("name", "op").index("by_app", "web", "obj2");
    for _ in 0..2 {
        let outcome = fixture.run(async |t: Timer| -> kopf::Result {
            t.memo.update("count", |old: Option<u32>| old.unwrap_or(0) + 1)?;
            assert_eq!(t.operator_memo().get::<String>("name")?.as_deref(), Some("op"));
            assert_eq!(t.memo.get::<u8>("absent")?, None);
            assert!(t.memo.get::<String>("count").is_err(), "it is of another type");
            let index = t.index("by_app");
            assert_eq!((index.get("web"), index.get("db").len(), index.len()), (vec![json!("obj2")], 0, 1));
            assert!(index.contains("web") && t.index("none").is_empty());
            assert_ne!(t.rand().next_u64(), 0);
            Ok(())
        });
        assert_eq!(outcome.error, None);
    }
    assert_eq!(fixture.memo_value("count"), 3);
}

#[kopf::index("kopfexamples")]
fn by_app(o: Indexed) -> Option<Keyed> {
    o.labels.get("app").map(|app| Keyed::new().with(app, &o.name).with([1, 2], ()))
}

#[test]
fn values_of_indices() {
    let outcome = Fixture::new(body()).run_index(async |o: Indexed| by_app(o));
    assert_eq!(outcome.result, json!([["web", "obj1"], [[1, 2], null]]));
    assert_eq!(Fixture::new(json!({})).run_index(async |o: Indexed| by_app(o)).result, Value::Null);
}

#[test]
fn activities_see_and_change_settings() {
    let fixture = Fixture::activity("startup").settings(json!({"posting.enabled": true})).config("KEY", "value");
    let outcome = fixture.run(async |a: Activity| {
        assert_eq!(a.settings.get("posting.enabled"), true);
        a.settings.set("posting.enabled", kopf::config("KEY"));
        assert_eq!(a.settings.get("posting.enabled"), "value");
    });
    assert_eq!(outcome.settings["posting.enabled"], "value");
}

#[test]
fn values_without_a_form_are_errors() {
    let odd = || std::collections::BTreeMap::from([((1, 2), 3)]); // keys are texts in JSON
    let outcome = Fixture::activity("startup").run(async move |a: Activity| a.settings.set("posting.level", odd()));
    let error = outcome.error.unwrap();
    assert_eq!(error.message, "setting posting.level: key must be a string");
    assert!(outcome.settings.is_empty(), "{:?}", outcome.settings);
    let outcome =
        Fixture::new(body()).run(async move |c: Change| -> kopf::Result { Ok(c.events.about(odd()).info("A", "a")?) });
    assert_eq!((outcome.error.unwrap().message.as_str(), outcome.events.len()), ("not valid", 0));
}

#[test]
fn reviews_warn_refuse_and_change() {
    let review =
        json!({"operation": "CREATE", "dryrun": true, "userinfo": {"username": "me"}, "headers": {"A": ["b"]}});
    let outcome = Fixture::new(body()).admission(review).run(async |r: Review| -> kopf::Result {
        assert_eq!((r.operation.as_str(), &r.subresource, r.dry_run), ("CREATE", &None, true));
        assert_eq!((&r.user_info["username"], &r.headers["A"]), (&json!("me"), &vec!["b".to_owned()]));
        r.warn("careful");
        r.patch.spec().set("size", 6);
        Err(Error::admission("no").code(418))
    });
    assert_eq!(outcome.warnings, ["careful"]);
    let error = outcome.error.unwrap();
    assert_eq!((error.kind, error.code, error.message.as_str()), (ErrorKind::Admission, 418, "no"));
}

#[test]
fn events_of_objects_and_transformations() {
    let outcome = Fixture::new(body()).event("MODIFIED").run(async |e: Event| {
        assert_eq!((e.event_type.as_deref(), &e.raw["object"]["kind"]), (Some("MODIFIED"), &json!("KopfExample")));
        e.patch.edit(|body| {
            body["spec"]["zones"].as_array_mut().unwrap().push(json!("b"));
            Ok(())
        });
    });
    assert_eq!(outcome.edited.unwrap()["spec"]["zones"], json!(["a", "b"]));
}

#[test]
fn events_have_pauses_of_their_own() {
    let outcome = Fixture::new(body()).run(async |c: Change| -> kopf::Result {
        c.events.backoffs([Duration::from_secs(1), Duration::from_millis(1500)]).info("A", "a")?;
        c.events.info("B", "b")?;
        Ok(())
    });
    let pauses: Vec<_> = outcome.events.into_iter().map(|event| event.backoffs).collect();
    assert_eq!(pauses, [Some(json!([1.0, 1.5])), None]);
}

#[test]
fn filters_combine() {
    let fixture = Fixture::new(body());
    let check = |filter: Filter, value: Option<Value>| filter.holds(&fixture.cause(value).unwrap());
    assert!(check(PRESENT, Some(Value::Null)) && !check(PRESENT, None) && check(ABSENT, None));
    assert!(check("x".into(), Some(json!("x"))) && !check("x".into(), Some(json!("y"))));
    assert!(check(not("x"), Some(json!("y"))) && check(any(["x", "y"]), Some(json!("y"))));
    assert!(check(none(["x", "y"]), Some(json!("z"))) && !check(all([PRESENT, not("x")]), Some(json!("x"))));
    assert!(check(Filter::check(|c| c.spec["size"] == 5 && c.name == "obj1"), None));
}

#[test]
fn logins_are_those_of_the_host() {
    let outcome =
        Fixture::activity("authentication").logins(&["kubeconfig"]).run(async |a: Activity| -> kopf::Result<_> {
            Ok(login_with_service_account(&a).or(login_with_kubeconfig(&a)))
        });
    assert_eq!(outcome.result, json!({"login": "kubeconfig", "priority": 0}));
}

#[test]
fn children_have_places_for_their_owners() {
    #[derive(Deserialize, serde::Serialize)]
    struct Meta {
        name: String,
        #[serde(default, rename = "ownerReferences", skip_serializing_if = "Vec::is_empty")]
        owners: Vec<Value>,
    }
    #[derive(Deserialize, serde::Serialize)]
    struct Child {
        metadata: Meta,
    }
    #[derive(Deserialize, serde::Serialize)]
    struct Bare {
        kind: String,
    }
    let owner = |labels: Value| {
        let metadata = json!({"name": "a", "uid": "u", "labels": labels});
        Owner::of(json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata})).unwrap()
    };
    let mut child = Child { metadata: Meta { name: "b".into(), owners: Vec::new() } };
    owner(json!({})).adopt(&mut child).unwrap();
    assert_eq!((child.metadata.owners[0]["uid"].as_str(), child.metadata.name.as_str()), (Some("u"), "b"));
    let err = owner(json!({"app": "x"})).adopt(&mut child).unwrap_err();
    assert_eq!(err.to_string(), "metadata.labels: the type of the child has no such field");
    let err = owner(json!({})).append_owner_reference(&mut Bare { kind: "Pod".into() }).unwrap_err();
    assert_eq!(err.to_string(), "metadata: the type of the child has no such field");
}
