//! An operator like any other: operators of one peering object pause for the one with the
//! highest priority.

use kopf::Change;

kopf::operator!(create_fn);

#[kopf::create("kopfexamples")]
fn create_fn(c: Change) {
    kopf::info!(c, "handled by one operator only");
    c.patch.status().set("handled", true);
}
