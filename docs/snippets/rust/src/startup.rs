//! Handlers for the beginning and the end of an operator.

use std::sync::OnceLock;

use kopf::{Activity, Change, Error, Handler, Operator};

// [startup]

#[kopf::startup(retries = 3)]
fn configure(a: Activity) -> kopf::Result {
    if kopf::config("region").is_none() {
        return Err(Error::permanent("run it with --config region=NAME"));
    }
    a.settings.set("execution.default_backoff", 10);
    Ok(())
}

// [/startup]

// [cleanup]

#[kopf::cleanup]
async fn goodbye(a: Activity) {
    kopf::info!(a, "the operator ends");
}

// [/cleanup]

// [variables]

static REGION: OnceLock<String> = OnceLock::new();

#[kopf::startup]
fn remember(_: Activity) {
    REGION.get_or_init(|| kopf::config("region").unwrap_or("anywhere".into()));
}

#[kopf::create("kopfexamples")]
async fn place(c: Change) {
    c.patch.spec().set("region", REGION.get());
}

// [/variables]

// [setup]

fn setup(operator: &mut Operator) -> kopf::Result {
    let Some(kind) = kopf::config("resource") else {
        return Err(Error::permanent("run it with --config resource=NAME"));
    };
    operator.add(Handler::create(kind.as_str(), create).id("create"));
    Ok(())
}

kopf::operator! {
    setup: setup,
    handlers: [configure, goodbye],
}

// [/setup]

async fn create(_: Change) {}
