//! Each attribute is for functions only.

#[kopf::create("kopfexamples")]
const CREATE: u32 = 0;

#[kopf::update("kopfexamples")]
const UPDATE: u32 = 0;

#[kopf::delete("kopfexamples")]
const DELETE: u32 = 0;

#[kopf::resume("kopfexamples")]
const RESUME: u32 = 0;

#[kopf::event("kopfexamples")]
const EVENT: u32 = 0;

#[kopf::timer("kopfexamples")]
const TIMER: u32 = 0;

#[kopf::daemon("kopfexamples")]
const DAEMON: u32 = 0;

#[kopf::index("kopfexamples")]
const INDEX: u32 = 0;

#[kopf::validate("kopfexamples")]
const VALIDATE: u32 = 0;

#[kopf::mutate("kopfexamples")]
const MUTATE: u32 = 0;

#[kopf::field("kopfexamples", field = "spec")]
const FIELD: u32 = 0;

#[kopf::convert("kopfexamples", from = "v1", to = "v2")]
const CONVERT: u32 = 0;

#[kopf::startup]
const STARTUP: u32 = 0;

#[kopf::cleanup]
const CLEANUP: u32 = 0;

#[kopf::probe]
const PROBE: u32 = 0;

#[kopf::login]
const LOGIN: u32 = 0;

#[kopf::background]
const BACKGROUND: u32 = 0;

fn main() {}
