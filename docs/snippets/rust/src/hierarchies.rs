//! How objects become children of the handled one.

use kopf::{Adoption, Change, FieldPath, json};

// [adopt]

#[kopf::create("kopfexamples")]
async fn create(c: Change) -> kopf::Result {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod"});
    c.owner().adopt(&mut pod)?;
    c.patch.status().set("child", pod);
    Ok(())
}

// [/adopt]

// [options]

#[kopf::update("kopfexamples")]
async fn update(c: Change) -> kopf::Result {
    let mut deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "spec": {"template": {"spec": {}}},
    });
    let owner = c.owner().with(Adoption {
        strict: true, // the owner's name, without a suffix
        labels: Some([("app.example.com/of".to_owned(), c.name.clone())].into()),
        nested: vec!["spec.template".keys()], // the pods get the labels too
        ..Adoption::default()
    });
    owner.adopt(&mut deployment)
}

// [/options]
