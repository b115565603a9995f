//! An operator that takes its handlers from a conformance case, as a plugin of Extism. It
//! does what such plugins can: see cases.txt for the cases, and the interpreter in Rust
//! (../rust) for the vocabulary. Both share the code that handles values only.

mod call;
mod describe;
mod effects;
mod filters;
mod functions;
mod register;
mod script;
mod state;

#[path = "../../rust/src/edits.rs"]
mod edits;
#[path = "../../rust/src/storages.rs"]
mod storages;
#[path = "../../rust/src/values.rs"]
mod values;

use extism_pdk::{FnResult, Json, plugin_fn};
use serde_json::{Value, json};

#[plugin_fn]
pub fn kopf_register(_: Vec<u8>) -> FnResult<Json<Value>> {
    Ok(Json(register::register()))
}

#[plugin_fn]
pub fn kopf_start(Json(message): Json<Value>) -> FnResult<Json<Value>> {
    let handler = state::handler(&message)?;
    Ok(Json(call::Call::new(&message, &handler).handle()))
}

#[plugin_fn]
pub fn kopf_ask(Json(message): Json<Value>) -> FnResult<Json<Value>> {
    let mut answers = Vec::new();
    for question in values::list(&message["questions"]) {
        answers.push(filters::answer(&message, question)?);
    }
    Ok(Json(json!({"answers": answers})))
}

#[plugin_fn]
pub fn kopf_transform(Json(message): Json<Value>) -> FnResult<Json<Value>> {
    let mut body = message["body"].clone();
    for op in state::edits(&message["task"]) {
        edits::edit(&mut body, &op);
    }
    Ok(Json(json!({"body": body})))
}

#[plugin_fn]
pub fn kopf_release(Json(message): Json<Value>) -> FnResult<()> {
    state::release(&message["task"]);
    Ok(())
}
