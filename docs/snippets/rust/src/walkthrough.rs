//! Memberships begin when they are paid, can be renewed, and end.

// [operator]

use kopf::{Change, Error, Value, json};
use serde::Deserialize;
use std::time::Duration;

kopf::operator!(begin, renew, end);

/// What people write.
#[derive(Deserialize)]
struct Membership {
    #[serde(default)]
    member: String,
    #[serde(default)]
    days: i64,
    #[serde(default)]
    paid: bool,
}

#[kopf::create("memberships", timeout = 86400)]
async fn begin(c: Change<Membership>) -> kopf::Result<Value> {
    if c.spec.days <= 0 {
        return Err(Error::permanent("a membership needs a number of days"));
    }
    if !c.spec.paid {
        let unpaid = Error::temporary("it is not paid yet");
        return Err(unpaid.delay(Duration::from_secs(5)));
    }
    kopf::info!(c, "welcome member={}", c.spec.member);
    Ok(json!({"days": c.spec.days}))
}

#[kopf::field("memberships", field = "spec.days")]
async fn renew(c: Change) {
    if c.reason == "update" {
        kopf::info!(c, "renewed from={} to={}", c.old, c.new);
        c.patch.part(["status", "begin"]).set("days", &c.new);
    }
}

#[kopf::delete("memberships")]
async fn end(c: Change<Membership>) {
    kopf::info!(c, "goodbye member={}", c.spec.member);
}

// [/operator]

#[cfg(test)]
mod tests {
    use super::*;
    use kopf::testing::Fixture;

    #[test]
    fn memberships_begin_and_are_renewed() {
        let begun = Fixture::new(json!({"spec": {"member": "Anna", "days": 30, "paid": true}})).run(begin);
        assert_eq!(begun.result, json!({"days": 30}));
        let renewed = Fixture::new(json!({})).reason("update").old(30).new_value(60).run(renew);
        assert_eq!(renewed.patch, json!({"status": {"begin": {"days": 60}}}));
    }
}
