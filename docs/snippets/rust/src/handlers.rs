//! The kinds of handlers.

use kopf::{Change, Event, Handler, Lifecycle, Operator, PRESENT, Timer, Value, json};

// [changes]

#[kopf::create("kopfexamples")]
async fn created(_: Change) -> kopf::Result<Value> {
    Ok(json!({"message": "hello"})) // in status.created
}

#[kopf::update("kopfexamples")]
async fn updated(c: Change) {
    for item in c.diff() {
        kopf::info!(c, "{} {:?}: {} -> {}", item.op, item.path, item.old, item.new);
    }
}

#[kopf::delete("kopfexamples")]
fn deleted(_: Change) {}

#[kopf::resume("kopfexamples")]
fn resumed(_: Change) {}

// [/changes]

// [optional]

#[kopf::delete("kopfexamples", optional = true)]
fn missed(_: Change) {}

// [/optional]

// [deleted]

#[kopf::resume("kopfexamples", deleted = true)]
fn rejoined(_: Change) {}

// [/deleted]

// [lifecycle]

kopf::operator! {
    lifecycle: Lifecycle::AllAtOnce,
    handlers: [created, updated, deleted, resumed],
}

// [/lifecycle]

// [field]

#[kopf::field("kopfexamples", field = "spec.size")]
async fn resize(c: Change) {
    kopf::info!(c, "the size: {} -> {}", c.old, c.new); // values of spec.size
}

// [/field]

// [event]

#[kopf::event("pods")]
async fn spied(e: Event) {
    // None: it is in the listing at the start.
    if let Some(event_type) = &e.event_type {
        kopf::info!(e, "seen type={event_type} phase={}", e.status["phase"]);
    }
}

// [/event]

// [closure]

fn setup(operator: &mut Operator) -> kopf::Result {
    for size in ["small", "large"] {
        let closure = async move |c: Change| kopf::info!(c, "a closure size={size}");
        operator.add(Handler::create("kopfexamples", closure).id(format!("create-{size}")));
    }
    Ok(())
}

// [/closure]

// [one-function]

#[kopf::create("kopfexamples")]
#[kopf::update("kopfexamples")]
#[kopf::resume("kopfexamples")]
fn reconcile(_: Change) {}

// [/one-function]

// [several]

#[kopf::create("kopfexamples", id = "small", param = 1)]
#[kopf::create("kopfexamples", id = "large", param = 10)]
async fn ensure(c: Change) {
    kopf::info!(c, "ensured size={}", c.param);
}

// [/several]

async fn provision(_: Change) {}
async fn check(_: Timer) {}

// [options]

fn patient(handler: Handler) -> Handler {
    handler.retries(10).backoff(60)
}

fn patiently(operator: &mut Operator) -> kopf::Result {
    operator.add(patient(Handler::create("kopfexamples", provision)).id("provision").label("app", PRESENT));
    operator.add(patient(Handler::timer("kopfexamples", check)).id("check").interval(3600));
    Ok(())
}

// [/options]
