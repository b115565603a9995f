//! Handlers that are called for some objects only: by labels, annotations, fields and functions.

use kopf::{ABSENT, Cause, Change, Daemon, Handler, Operator, PRESENT, all, not};
use std::time::Duration;

kopf::operator! {
    setup: setup,
    handlers: [accompanies],
}

fn setup(operator: &mut Operator) -> kopf::Result {
    let mut on = |id: &str, filter: fn(Handler) -> Handler| {
        operator.add(filter(Handler::create("kopfexamples", called)).id(id));
    };
    on("label_equals", |h| h.label("owner", "us"));
    on("label_is_present", |h| h.label("owner", PRESENT));
    on("label_is_absent", |h| h.label("unknown", ABSENT));
    on("label_is_ours", |h| h.label("owner", is_ours));
    on("annotation_is_theirs", |h| h.annotation("owner", is_theirs));
    on("annotations_fit", |h| h.annotation("owner", PRESENT).annotation("unknown", ABSENT));
    on("functions_agree", |h| h.when(all([is_named.into(), not(is_off)])));
    on("function_disagrees", |h| h.when(|_: &Cause| false));
    on("field_equals", |h| h.field("spec.field").value("value"));
    on("field_differs", |h| h.field("spec.field").value("other"));
    on("field_is_present", |h| h.field("spec.unknown").value(PRESENT));
    let fits = Handler::update("kopfexamples", called).id("change_fits");
    operator.add(fits.field("spec.field").old("value").new_value("changed"));
    Ok(())
}

fn is_ours(c: &Cause) -> bool {
    c.value.as_ref().is_some_and(|owner| owner == "us") && c.spec.get("field").is_some()
}

fn is_theirs(c: &Cause) -> bool {
    c.value.as_ref().is_some_and(|owner| owner == "them")
}

fn is_named(c: &Cause) -> bool {
    c.name.starts_with("kopf-")
}

fn is_off(c: &Cause) -> bool {
    c.spec.get("off").is_some()
}

async fn called(_: Change) -> kopf::Result<&'static str> {
    Ok("called")
}

#[kopf::daemon("kopfexamples", field = "spec.field", value = "value")]
async fn accompanies(mut d: Daemon) -> kopf::Result {
    while !d.wait(Duration::from_secs(1)).await? {
        kopf::info!(d, "the field still has its value");
    }
    Ok(())
}
