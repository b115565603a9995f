//! Handlers of changes.

use kopf::{ABSENT, Cause, Change, Error, Handler, Owner, PRESENT, Value, json, not};
use serde::{Deserialize, Serialize};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// Handlers without a label of their own.
fn is_plain(c: &Cause) -> bool {
    c.spec.get("do").is_some()
}

#[kopf::create("kopf.dev", "v1", "kopfexamples", when = is_plain, backoff = 1)]
#[kopf::update("kopf.dev", "v1", "kopfexamples", when = |c| c.spec["do"] == "again", id = "create_fn", backoff = 1)]
pub async fn create_fn(c: Change) -> kopf::Result<Value> {
    kopf::info!(c, "doing {} for {}", c.spec["do"], c.name);
    match c.spec["do"].as_str().unwrap_or_default() {
        "temporary" if c.retry == 0 => return Err(Error::temporary("not yet").delay(SECOND)),
        "permanent" => return Err(Error::permanent("never")),
        "chain" => return Err(Error::permanent("never").because("x".parse::<u8>().unwrap_err())),
        "arbitrary" if c.retry == 0 => {
            "x".parse::<u8>()?;
        }
        "panic" if c.retry == 0 => panic!("the spec of {} wants a panic", c.name),
        "foreign" => std::future::pending().await,
        "wait" => c.sleep(SECOND).await?,
        "events" => {
            c.events.info("Informed", "all is well")?;
            c.events.exception(&"x".parse::<u8>().unwrap_err(), "", "it failed:")?;
        }
        "edit" => c.patch.edit(|body| {
            body["metadata"]["annotations"]["edited"] = "yes".into();
            Ok(())
        }),
        "subs" => return subs(c).await,
        "adopt" => {
            let mut child = json!({"apiVersion": "v1", "kind": "ConfigMap"});
            c.owner().adopt(&mut child)?;
            return Ok(child["metadata"]["ownerReferences"][0]["name"].clone());
        }
        "print" => kopf::println!("{} is printed", c.name),
        _ => {}
    }
    c.patch.status().set("seen", true);
    Ok(json!({"message": format!("hello, {}", c.name), "retry": c.retry}))
}

/// Sub-handlers that run now, one of which fails at first, and one with an implicit one of its own.
async fn subs(c: Change) -> kopf::Result<Value> {
    let flaky = async |c: Change| match c.retry {
        0 => Err(Error::temporary("a moment").delay(SECOND)),
        retry => Ok(retry),
    };
    let nested = async |c: Change| c.sub("leaf", async |c: Change| Ok::<_, kopf::Error>(c.id.clone()));
    c.execute([Handler::sub("flaky", flaky).retries(5), Handler::sub("nested", nested)]).await?;
    kopf::info!(c, "after execute");
    c.sub("steady", async |_: Change| Ok::<_, Error>("done"));
    c.execute_declared().await?;
    Ok(json!("all"))
}

/// A spec with a type.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Typed {
    size: u32,
    #[serde(default)]
    zones: Vec<Zone>,
}

#[derive(Deserialize, Serialize)]
pub struct Zone {
    name: String,
}

#[kopf::create("kopfexamples", labels = {"typed": PRESENT, "skipped": ABSENT})]
pub async fn typed_fn(c: Change<Typed>) -> kopf::Result<u32> {
    kopf::info!(
        c,
        "typed handler with {} zones, the first is {:?}",
        c.spec.zones.len(),
        c.spec.zones.first().map(|z| &z.name)
    );
    Ok(c.spec.size * 2)
}

#[kopf::field("kopfexamples", field = "spec.size", old = PRESENT, new = not(0), labels = {"typed": "yes"}, param = 5)]
pub fn size_changed(c: Change) -> kopf::Result<Value> {
    let diff: Vec<_> = c.diff().into_iter().map(|item| format!("{} {} {}", item.op, item.old, item.new)).collect();
    Ok(json!([c.old.decode::<u32>()?, c.new.decode::<u32>()?, diff, c.param, c.reason]))
}

#[kopf::delete("kopfexamples", labels = {"guarded": PRESENT})]
pub async fn delete_fn(c: Change) -> kopf::Result {
    let owner = Owner::of(&c.body)?.object_reference()?;
    kopf::info!(c, "deleting {}", owner["name"]);
    Ok(())
}
