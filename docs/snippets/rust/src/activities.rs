//! Background handlers, probes, logins.

use kopf::{Activity, Background, ConnectionInfo};
use std::time::Duration;

// [background]

#[kopf::background]
async fn poll(b: Background) -> kopf::Result {
    let mut polls = 0;
    while !b.wait(Duration::from_secs(60)).await {
        polls += 1;
        b.memo.set("polls", &polls)?;
    }
    Ok(())
}

// [/background]

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

// [login]

#[kopf::login(retries = 3)]
fn login(a: Activity) -> kopf::Result<Option<ConnectionInfo>> {
    Ok(kopf::login_with_service_account(&a).or_else(|| kopf::login_with_kubeconfig(&a)))
}

#[kopf::login]
fn token(_: Activity) -> kopf::Result<ConnectionInfo> {
    Ok(ConnectionInfo { token: kopf::config("token"), priority: 5, ..Default::default() })
}

// [/login]
