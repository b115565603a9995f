//! Login handlers.

use kopf::{Activity, ConnectionInfo};

// [own]

#[kopf::login(retries = 3)]
fn login(a: Activity) -> kopf::Result<Option<ConnectionInfo>> {
    Ok(kopf::login_with_service_account(&a).or_else(|| kopf::login_with_kubeconfig(&a)))
}

// [/own]

// [data]

#[kopf::login]
fn token(_: Activity) -> kopf::Result<ConnectionInfo> {
    Ok(ConnectionInfo { token: kopf::config("token"), priority: 5, ..Default::default() })
}

// [/data]
