//! Sees each event of the watch. Nothing is stored about these handlers, and they are not
//! repeated.

use kopf::{Error, Event};

kopf::operator!(fails, sees);

#[kopf::event("kopfexamples")]
fn fails(_: Event) -> kopf::Result {
    Err(Error::temporary("logged, and ignored"))
}

#[kopf::event("kopfexamples")]
fn sees(e: Event) {
    kopf::info!(e, "seen type={:?}", e.event_type);
    if e.event_type.as_deref() != Some("DELETED") {
        e.patch.status().set("seen", &e.spec["field"]);
    }
}
