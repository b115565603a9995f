//! The Rust guest of the benchmark of daemons: one for each object, which looks at the object every ten seconds.

use kopf::Daemon;
use std::time::Duration;

/// That of the peers, too.
const PERIOD: Duration = Duration::from_secs(10);

#[kopf::daemon("kopfexamples")]
async fn daemon_fn(mut d: Daemon) -> kopf::Result<()> {
    let mut looks = 0;
    while !d.wait(PERIOD).await? {
        if d.spec["field"] != "" {
            looks += 1;
        }
    }
    kopf::debug!(d, "{looks} looks");
    Ok(())
}

kopf::operator! {
    name: "rust-daemons",
    handlers: [daemon_fn],
}
