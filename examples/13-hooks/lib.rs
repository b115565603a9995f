//! The life of an operator: it prepares itself, logs in, reports its health, and says good-bye.

use kopf::{Activity, Change, ConnectionInfo};
use std::time::UNIX_EPOCH;

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
fn now(a: Activity) -> kopf::Result<Option<String>> {
    let since = a.started().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(since.map(|since| date(since.as_secs() / 86_400)))
}

/// The date of a day since 1970, without a crate for it.
fn date(mut day: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 0;
    let days = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    while day >= days[month] {
        day -= days[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, day + 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn days_are_dates() {
        assert_eq!(super::date(0), "1970-01-01");
        assert_eq!(super::date(19_782), "2024-02-29");
        assert_eq!(super::date(20_454), "2026-01-01");
    }
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
