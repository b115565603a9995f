//! A guest that uses the SDK for Rust in all its parts, for test/e2e. What a handler does is
//! said by `do` in the spec of the object.

mod changes;
mod others;

kopf::operator! {
    name: "rust-sdk",
    version: "1.0",
    lifecycle: kopf::Lifecycle::AllAtOnce,
    setup: setup,
    handlers: [
        others::configure,
        changes::create_fn,
        changes::typed_fn,
        changes::size_changed,
        changes::delete_fn,
        others::watch,
        others::tick,
        others::by_group,
        others::spy,
    ],
}

/// What the configuration asks for.
fn setup(operator: &mut kopf::Operator) -> kopf::Result {
    match kopf::config("setup").as_deref() {
        Some("refuse") => return Err(kopf::Error::permanent("the configuration is refused")),
        Some("twins") => {
            operator.add(
                kopf::Handler::create(("kopf.dev", "v1", "kopfexamples"), async |_: kopf::Change| ()).id("create_fn"),
            );
        }
        _ => {}
    }
    Ok(())
}
