//! Patterns of several features.

use kopf::{ABSENT, Change};

// [never-again]

const DONE: &str = "example.com/migrated";

#[kopf::resume("kopfexamples", annotations = {DONE: ABSENT})]
async fn migrate(c: Change) {
    c.patch.annotations().set(DONE, "yes"); // excludes the handler from now on, also after restarts
}

// [/never-again]
