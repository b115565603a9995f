//! The Rust guest of the benchmark of reviews: one check of one field.

use kopf::{Error, Review};

#[kopf::validate("kopfexamples", id = "check")]
fn check(r: Review) -> kopf::Result {
    if r.spec["field"].as_str().is_none_or(str::is_empty) {
        return Err(Error::admission("the field is empty").code(422));
    }
    Ok(())
}

kopf::operator!(check);
