//! What errors of handlers mean.

use kopf::{Change, Error, ErrorsMode};
use std::time::Duration;

// [temporary]

#[kopf::create("kopfexamples")]
async fn provision(c: Change) -> kopf::Result {
    if c.status.get("volume").is_none() {
        return Err(Error::temporary("the volume is not ready").delay(Duration::from_secs(10)));
    }
    Ok(())
}

// [/temporary]

// [permanent]

fn check(c: &Change) -> kopf::Result {
    if c.spec["size"].as_u64() > Some(100) {
        return Err(Error::permanent("sizes over 100 are not possible"));
    }
    Ok(())
}

// [/permanent]

fn reserve() -> Result<(), std::num::ParseIntError> {
    "over the quota".parse::<u32>().map(drop)
}

// [wrapped]

#[kopf::update("kopfexamples")]
async fn wrapped(c: Change) -> kopf::Result {
    check(&c)?; // still permanent
    reserve().map_err(|err| Error::temporary("reserving").delay(Duration::from_secs(60)).because(err))
}

// [/wrapped]

// [options]

#[kopf::create(
    "kopfexamples",
    errors = ErrorsMode::Temporary, // or Permanent, Ignored
    backoff = 30,
    retries = 5,
    timeout = 600
)]
fn fragile(_: Change) {}

// [/options]
