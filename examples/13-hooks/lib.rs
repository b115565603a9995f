//! The life of an operator: it prepares itself, logs in, reports its health, and says good-bye.

use kopf::{Activity, Change, ConnectionInfo};

kopf::operator!(prepare, login, now, handled, goodbye, create);

#[kopf::startup(retries = 3)]
fn prepare(a: Activity) -> kopf::Result {
    a.settings.set("execution.default_backoff", 10);
    Ok(a.memo.set("handled", &0)?)
}

#[kopf::login(retries = 3)]
fn login(a: Activity) -> kopf::Result<Option<ConnectionInfo>> {
    Ok(kopf::login_with_service_account(&a).or_else(|| kopf::login_with_kubeconfig(&a)))
}

#[kopf::probe]
fn now(a: Activity) -> kopf::Result<Option<u64>> {
    let now = a.started().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    Ok(now.map(|now| now.as_secs()))
}

#[kopf::probe]
fn handled(a: Activity) -> kopf::Result<Option<u32>> {
    Ok(a.memo.get("handled")?)
}

#[kopf::cleanup]
fn goodbye(a: Activity) -> kopf::Result {
    let handled: Option<u32> = a.memo.get("handled")?;
    kopf::info!(a, "that was it handled={}", handled.unwrap_or(0));
    Ok(())
}

#[kopf::create("kopfexamples")]
fn create(c: Change) -> kopf::Result {
    c.operator_memo().update("handled", |old: Option<u32>| old.unwrap_or(0) + 1)?;
    Ok(())
}
