//! Each attribute knows its options.

#[kopf::create("kopfexamples", colour = "red")]
fn create_fn(_: kopf::Change) {}

#[kopf::update("kopfexamples", colour = "red")]
fn update_fn(_: kopf::Change) {}

#[kopf::delete("kopfexamples", colour = "red")]
fn delete_fn(_: kopf::Change) {}

#[kopf::resume("kopfexamples", colour = "red")]
fn resume_fn(_: kopf::Change) {}

#[kopf::event("kopfexamples", colour = "red")]
fn event_fn(_: kopf::Event) {}

#[kopf::timer("kopfexamples", colour = "red")]
fn timer_fn(_: kopf::Timer) {}

#[kopf::daemon("kopfexamples", colour = "red")]
fn daemon_fn(_: kopf::Daemon) {}

#[kopf::index("kopfexamples", colour = "red")]
fn index_fn(_: kopf::Indexed) {}

#[kopf::validate("kopfexamples", colour = "red")]
fn validate_fn(_: kopf::Review) {}

#[kopf::mutate("kopfexamples", colour = "red")]
fn mutate_fn(_: kopf::Review) {}

#[kopf::field("kopfexamples", field = "spec", colour = "red")]
fn field_fn(_: kopf::Change) {}

#[kopf::convert("kopfexamples", from = "v1", to = "v2", colour = "red")]
fn convert_fn(_: kopf::Conversion) {}

#[kopf::startup(colour = "red")]
fn startup_fn(_: kopf::Activity) {}

#[kopf::cleanup(colour = "red")]
fn cleanup_fn(_: kopf::Activity) {}

#[kopf::probe(colour = "red")]
fn probe_fn(_: kopf::Activity) {}

#[kopf::login(colour = "red")]
fn login_fn(_: kopf::Activity) {}

#[kopf::background(colour = "red")]
fn background_fn(_: kopf::Background) {}

fn main() {}
