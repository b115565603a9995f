//! Credentials.

use crate::activity::Activity;
use serde::Serialize;

/// The result of a login handler: how to reach the cluster. It is either one of the host's own
/// credentials, by `login`, or made of data. Without a `server`, it is for the server of the host.
///
/// ```
/// # use kopf::{Activity, ConnectionInfo};
/// #[kopf::login]
/// fn log_in(a: Activity) -> kopf::Result<ConnectionInfo> {
///     let token = kopf::config("TOKEN");
///     Ok(ConnectionInfo { token, priority: 10, ..ConnectionInfo::default() })
/// }
/// ```
///
/// Files of the host cannot be named. `server`, `ca_data` and `insecure` need the grant
/// `kopf run --allow-server`, and `proxy_url` needs `--allow-proxy`.
///
/// Kopf: `kopf.ConnectionInfo`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ConnectionInfo {
    /// The name of the host's own credentials, see [`Activity::logins`]. They can be limited by
    /// `priority`, `expiration` and `default_namespace`, but not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<String>,
    /// Prefers credentials: the highest one is used.
    pub priority: i32,
    /// For events about objects without a namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_namespace: Option<String>,
    /// When the credentials are dropped (ISO 8601, UTC without a zone); `None`: when they are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiration: Option<String>,
    /// The URL of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The URL of a proxy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_url: Option<String>,
    /// Of the server: PEM, plain or in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_data: Option<String>,
    /// Do not verify the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insecure: Option<bool>,
    /// With the password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
    /// With the user's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub password: Option<String>,
    /// Of the token; Bearer by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// A token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Of the client: PEM, plain or in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate_data: Option<String>,
    /// Of the client: PEM, plain or in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_key_data: Option<String>,
}

/// The host's kubeconfig; `None` if it has none.
///
/// Kopf: `kopf.login_with_kubeconfig`.
pub fn login_with_kubeconfig(a: &Activity) -> Option<ConnectionInfo> {
    login_with(a, "kubeconfig")
}

/// The service account of the host's pod; `None` outside of a cluster.
///
/// Kopf: `kopf.login_with_service_account`.
pub fn login_with_service_account(a: &Activity) -> Option<ConnectionInfo> {
    login_with(a, "service_account")
}

/// One of the host's own credentials; `None` if the host has none of this name.
pub fn login_with(a: &Activity, name: &str) -> Option<ConnectionInfo> {
    let known = a.logins.iter().any(|login| login == name);
    known.then(|| ConnectionInfo { login: Some(name.to_owned()), ..ConnectionInfo::default() })
}
