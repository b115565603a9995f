//! An operator that an application runs and gives a memo.

use kopf::Change;

kopf::operator!(create_fn, delete_fn);

/// A text of the application, with the name of the object.
fn text(c: &Change, key: &str, otherwise: &str) -> kopf::Result<String> {
    let template: Option<String> = c.memo.get(key)?;
    Ok(template.as_deref().unwrap_or(otherwise).replace("{name}", &c.name))
}

#[kopf::create("kopfexamples")]
fn create_fn(c: Change) -> kopf::Result {
    c.patch.status().set("greeting", text(&c, "greeting", "Hello, {name}!")?);
    Ok(())
}

#[kopf::delete("kopfexamples")]
fn delete_fn(c: Change) -> kopf::Result {
    kopf::info!(c, "{}", text(&c, "farewell", "Good-bye, {name}!")?);
    Ok(())
}
