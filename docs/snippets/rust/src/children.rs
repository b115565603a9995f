//! How an operator keeps children of its objects.

// [card]

use kopf::{Capabilities, Change, Value, json};

#[kopf::create("memberships")]
#[kopf::update("memberships")]
#[kopf::resume("memberships")]
async fn card(c: Change) -> kopf::Result<Value> {
    let mut child = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": format!("{}-card", c.name)},
        "data": {"member": &c.spec["member"]},
    });
    c.owner().adopt(&mut child)?;
    let applied = c.api("v1", "configmaps").apply(&child).await?;
    Ok(applied["metadata"]["name"].clone())
}

kopf::operator! {
    want: Capabilities::new().kubernetes(&[""], &["configmaps"], &["create", "patch"]),
    handlers: [card],
}

// [/card]
