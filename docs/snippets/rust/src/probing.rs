//! Handlers for liveness probes.

use kopf::Activity;

// [probe]

#[kopf::probe]
fn region(_: Activity) -> kopf::Result<Option<String>> {
    Ok(kopf::config("region"))
}

#[kopf::probe]
fn handled(p: Activity) -> kopf::Result<u64> {
    Ok(p.memo.get("handled")?.unwrap_or(0))
}

// [/probe]
