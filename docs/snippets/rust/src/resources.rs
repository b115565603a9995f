//! What handlers are for.

use kopf::{EVERYTHING, Event, Handler, Operator, Selector};

// [names]

#[kopf::event("kopfexamples")] // by the plural name, the kind,
#[kopf::event("KopfExample")] // the singular name, or a short name
#[kopf::event("kopfexamples.kopf.dev")] // with the group
#[kopf::event("kopfexamples.v1.kopf.dev")] // with the version and the group
fn named(e: Event) {
    kopf::info!(e, "seen");
}

#[kopf::event("kopf.dev", "v1", "kopfexamples")] // or in parts
#[kopf::event("kopf.dev/v1", "kopfexamples")]
#[kopf::event("kopf.dev", "kopfexamples")]
#[kopf::event("", "v1", "pods")] // the core API
#[kopf::event(group = "kopf.dev", kind = "KopfExample")] // or by what the name is
#[kopf::event(category = "all")]
#[kopf::event(EVERYTHING)] // or all of them
#[kopf::event("kopf.dev", EVERYTHING)]
fn in_parts(e: Event) {
    kopf::info!(e, "seen");
}

// [/names]

// [function]

fn setup(operator: &mut Operator) -> kopf::Result {
    let ours = Selector::matching(|r| r.namespaced && r.group == "kopf.dev");
    operator.add(Handler::event(ours, async |e: Event| kopf::info!(e, "seen")).id("seen"));
    Ok(())
}

// [/function]
