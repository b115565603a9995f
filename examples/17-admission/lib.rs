//! Checks and completes objects before they are stored.

use kopf::{Error, Review};

#[kopf::validate("websites.example.com", id = "check-replicas")]
fn check_replicas(r: Review) -> kopf::Result {
    match r.spec["replicas"].as_u64() {
        Some(11..) => return Err(Error::admission("there can be at most 10 replicas").code(422)),
        None | Some(0) => r.warn("no replica will serve this website"),
        _ => {}
    }
    Ok(())
}

#[kopf::mutate("websites.example.com", id = "fill-in", operations = ["CREATE", "UPDATE"])]
fn fill_in(r: Review) {
    if r.spec.get("replicas").is_none() {
        r.patch.spec().set("replicas", 2);
    }
    r.patch.labels().set("example.com/requested-by", &r.user_info["username"]);
}

kopf::operator!(check_replicas, fill_in);
