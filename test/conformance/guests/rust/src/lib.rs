//! An operator that takes its handlers from a conformance case, as the one in Go (../go) does.
//! The case comes as the value KOPF_CASE_JSON_TEXT of the configuration, with all placeholders
//! resolved; KOPF_CASE_OPERATOR says which operator of the case it is: "main", or a key of
//! "operators".
//!
//! Each invocation of a handler prints one line of JSON to the standard output, before the
//! script of the handler is run. README.md of the conformance cases describes the vocabulary.

mod call;
mod cases;
mod describe;
mod edits;
mod effects;
mod filters;
mod hierarchies;
mod register;
mod script;
mod settings;
mod storages;
mod times;
mod values;
mod waits;

use cases::{Interpreter, Spec};
use kopf::{Activity, Error, Handler, Operator, Value};
use std::rc::Rc;

kopf::operator! {
    name: "conformance",
    version: "1",
    setup: setup,
    handlers: [],
}

/// Registers the handlers of the case.
fn setup(operator: &mut Operator) -> kopf::Result {
    let which = kopf::config("KOPF_CASE_OPERATOR").unwrap_or_default();
    let case: Value = serde_json::from_str(&kopf::config("KOPF_CASE_JSON_TEXT").unwrap_or_default())?;
    let main = which.is_empty() || which == "main";
    let spec = if main { &case["operator"] } else { &case["operators"][&which] };
    if spec.is_null() && !main {
        return Err(Error::permanent(format_args!("the case has no operator {which:?}")));
    }
    if let Some(lifecycle) = spec["lifecycle"].as_str() {
        operator.lifecycle(settings::lifecycle(lifecycle)?);
    }
    let interpreter = Rc::new(Interpreter { operator: (!main).then_some(which), settings: spec["settings"].clone() });
    let own = interpreter.clone();
    let configure = async move |a: Activity| settings::configure(&a, &own.settings);
    operator.add(Handler::startup(configure).id("__configure__"));
    for (i, handler) in values::list(&spec["handlers"]).iter().enumerate() {
        let handler = Rc::new(Spec::new(&interpreter, handler));
        let identity = format!("handlers[{i}].{}", handler.name);
        for decorator in values::list(&handler.given["decorators"]) {
            operator.add(register::handler(&handler, decorator)?.identity(&identity));
        }
    }
    Ok(())
}
