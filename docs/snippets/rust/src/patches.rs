//! How handlers change the object that they handle.

use kopf::{Change, Error, json};

// [merge]

#[kopf::create("kopfexamples")]
async fn merge(c: Change) {
    c.patch.status().set("phase", "Ready");
    c.patch.labels().set("example.com/seen", "yes");
    c.patch.annotations().delete("example.com/draft");
    c.patch.part(["spec", "template"]).set("replicas", 3);
    c.patch.status().merge(json!({"volumes": {"bound": 2}}));
}

// [/merge]

// [failing]

#[kopf::delete("kopfexamples")]
async fn fail(c: Change) -> kopf::Result {
    c.patch.status().set("attempts", c.retry + 1); // it is stored with each attempt
    Err(Error::temporary("the backup is still running"))
}

// [/failing]

// [edit]

#[kopf::update("kopfexamples")]
async fn edit(c: Change) {
    c.patch.edit(|body| {
        let mut list = body["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        if !list.contains(&json!("example.com/mine")) {
            list.push(json!("example.com/mine"));
        }
        body["metadata"]["finalizers"] = json!(list);
        Ok(())
    });
}

// [/edit]
