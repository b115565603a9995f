//! The attributes that make handlers of functions. They are documented here, and used as
//! `kopf::create` and so on.

mod arguments;
mod expansion;
mod kinds;
mod table;

use proc_macro::TokenStream;

macro_rules! attributes {
    ($($(#[doc = $doc:literal])+ $name:ident;)*) => {$(
        $(#[doc = $doc])+
        #[proc_macro_attribute]
        pub fn $name(arguments: TokenStream, item: TokenStream) -> TokenStream {
            expansion::expand(stringify!($name), arguments.into(), item.into())
                .unwrap_or_else(|err| err.to_compile_error())
                .into()
        }
    )*};
}

attributes! {
    /// Handles new objects: `#[kopf::create("kopf.dev", "v1", "kopfexamples", retries = 3)]`.
    ///
    /// Options: `id`, `param`, `errors`, `timeout`, `retries`, `backoff`, `labels`,
    /// `annotations`, `when`, `field`, `value`.
    ///
    /// See <https://docs.kopf.dev/en/latest/handlers/>
    create;
    /// Handles objects that have been changed. Options: those of [`macro@create`], `old`, `new`.
    update;
    /// Handles objects that are being deleted. Options: those of [`macro@create`], `optional`.
    delete;
    /// Handles objects that exist when the operator starts. Options: those of
    /// [`macro@create`], `deleted`.
    resume;
    /// Handles one field: `#[kopf::field("kopfexamples", field = "spec.size")]`. Options:
    /// those of [`macro@create`], `old`, `new`.
    field;
    /// Handles all events of objects as they come. Options: `id`, `param`, `labels`,
    /// `annotations`, `when`, `field`, `value`.
    event;
    /// Is called again and again while an object exists. Options: those of
    /// [`macro@create`], `interval`, `sharp`, `idle`, `initial_delay`.
    ///
    /// See <https://docs.kopf.dev/en/latest/timers/>
    timer;
    /// Runs as long as an object exists. Options: those of [`macro@create`], `initial_delay`,
    /// `cancellation_backoff`, `cancellation_timeout`, `cancellation_polling`.
    ///
    /// See <https://docs.kopf.dev/en/latest/daemons/>
    daemon;
    /// Makes the values of an index of objects. Options: those of [`macro@create`].
    ///
    /// See <https://docs.kopf.dev/en/latest/indexing/>
    index;
    /// Allows or refuses changes of objects. Options: `id`, `param`, `operation`, `operations`,
    /// `subresource`, `persistent`, `side_effects`, `ignore_failures`, `labels`,
    /// `annotations`, `when`, `field`, `value`.
    ///
    /// See <https://docs.kopf.dev/en/latest/admission/>
    validate;
    /// Changes objects before they are stored. Options: those of [`macro@validate`].
    mutate;
    /// Converts objects from one version of their resource to another one:
    /// `#[kopf::convert("widgets.example.com", from = "v1", to = "v2")]`. Options: `id`, `param`, `from`, `to`.
    ///
    /// See <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/>
    convert;
    /// Is called before everything else. Options: `id`, `param`, `errors`, `timeout`,
    /// `retries`, `backoff`.
    ///
    /// See <https://docs.kopf.dev/en/latest/startup/>
    startup;
    /// Is called after everything else. Options: those of [`macro@startup`].
    cleanup;
    /// Its result is shown by the liveness endpoint. Options: those of [`macro@startup`].
    ///
    /// See <https://docs.kopf.dev/en/latest/probing/>
    probe;
    /// Its result says how to reach the cluster. Options: those of [`macro@startup`].
    ///
    /// See <https://docs.kopf.dev/en/latest/authentication/>
    login;
    /// Work that belongs to no object. Options: those of [`macro@startup`].
    background;
}
