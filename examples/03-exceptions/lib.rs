//! What follows an error depends on its type, and on the options of the handler.

use kopf::{Change, Error, ErrorsMode};
use std::time::Duration;

kopf::operator!(gives_up, succeeds_late, fails_late, fails_at_once, is_ignored);

/// An error of the operator itself, which the host does not know.
#[derive(Debug)]
struct OutOfPaper(&'static str);

impl std::fmt::Display for OutOfPaper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for OutOfPaper {}

#[kopf::create("kopfexamples")]
fn gives_up(_: Change) -> kopf::Result {
    Err(Error::permanent("this can never work"))
}

#[kopf::create("kopfexamples")]
fn succeeds_late(c: Change) -> kopf::Result<&'static str> {
    c.patch.status().set("attempts", c.retry + 1); // patches are applied after errors, too
    if c.retry < 2 {
        return Err(Error::temporary("not yet").delay(Duration::from_secs(1)));
    }
    Ok("done")
}

#[kopf::create("kopfexamples", retries = 3, backoff = 1)]
fn fails_late(c: Change) -> Result<(), OutOfPaper> {
    c.patch.status().set("failures", c.retry + 1);
    Err(OutOfPaper("tried again after one second, three times in all"))
}

#[kopf::create("kopfexamples", errors = ErrorsMode::Permanent)]
fn fails_at_once(_: Change) -> Result<(), OutOfPaper> {
    Err(OutOfPaper("not tried again"))
}

#[kopf::create("kopfexamples", errors = ErrorsMode::Ignored)]
fn is_ignored(_: Change) -> Result<(), OutOfPaper> {
    Err(OutOfPaper("counted as a success"))
}
