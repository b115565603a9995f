//! How handlers select resources.

use kopf::{EVERYTHING, Event, Handler, Operator, Selector};

// [names]

#[kopf::event("kopfexamples")] // by the plural name, the kind,
#[kopf::event("KopfExample")] // the singular name, or a short name
#[kopf::event("kopfexamples.kopf.dev")] // with the group
#[kopf::event("kopfexamples.v1.kopf.dev")] // with the version and the group
fn named(_: Event) {}

// [/names]

// [parts]

#[kopf::event("kopf.dev", "v1", "kopfexamples")]
#[kopf::event("kopf.dev/v1", "kopfexamples")]
#[kopf::event("kopf.dev", "kopfexamples")]
#[kopf::event("", "v1", "pods")] // the core API
#[kopf::event("v1", "pods")] // the same
fn in_parts(_: Event) {}

// [/parts]

// [selector]

#[kopf::event(group = "kopf.dev", kind = "KopfExample")]
#[kopf::event(category = "all")]
fn selected(_: Event) {}

// [/selector]

// [everything]

#[kopf::event(EVERYTHING)]
#[kopf::event("kopf.dev", EVERYTHING)]
fn seen(_: Event) {}

// [/everything]

// [function]

fn setup(operator: &mut Operator) -> kopf::Result {
    let ours = Selector::matching(|r| r.namespaced && r.group == "kopf.dev");
    operator.add(Handler::event(ours, async |e: Event| kopf::info!(e, "seen")).id("seen"));
    Ok(())
}

// [/function]
