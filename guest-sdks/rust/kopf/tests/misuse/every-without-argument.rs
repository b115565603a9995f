//! Each attribute is for a function with the one argument of its kind.

#[kopf::create("kopfexamples")]
fn create_fn() {}

#[kopf::update("kopfexamples")]
fn update_fn() {}

#[kopf::delete("kopfexamples")]
fn delete_fn() {}

#[kopf::resume("kopfexamples")]
fn resume_fn() {}

#[kopf::event("kopfexamples")]
fn event_fn() {}

#[kopf::timer("kopfexamples")]
fn timer_fn() {}

#[kopf::daemon("kopfexamples")]
fn daemon_fn() {}

#[kopf::index("kopfexamples")]
fn index_fn() {}

#[kopf::validate("kopfexamples")]
fn validate_fn() {}

#[kopf::mutate("kopfexamples")]
fn mutate_fn() {}

#[kopf::field("kopfexamples", field = "spec")]
fn field_fn() {}

#[kopf::convert("kopfexamples", from = "v1", to = "v2")]
fn convert_fn() {}

#[kopf::startup]
fn startup_fn() {}

#[kopf::cleanup]
fn cleanup_fn() {}

#[kopf::probe]
fn probe_fn() {}

#[kopf::login]
fn login_fn() {}

#[kopf::background]
fn background_fn() {}

fn main() {}
