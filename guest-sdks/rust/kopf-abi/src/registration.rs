//! What a guest declares. See SPEC.md, "register".

use crate::message::message;
use serde_json::{Map, Value as Json};

message! {
    /// What register answers: a pure function of the module and its configuration.
    #[derive(Default)]
    pub struct Registration {
        /// Name and version of the SDK, for logs.
        sdk: String = "sdk",
        /// Who this is.
        operator: OperatorInfo = "operator",
        /// In the order of declaration; null with an error.
        handlers: Option<Vec<Handler>> = "handlers" always,
        /// The default order of handlers: `asap` if it is empty.
        lifecycle: String = "lifecycle",
        /// Whether daemons may share an instance while they wait.
        shared_tasks: bool = "shared_tasks",
        /// The rights that the guest wants.
        capabilities: Option<Capabilities> = "capabilities",
        /// Refuses the configuration: the operator does not start.
        error: String = "error",
    }
}

message! {
    /// Names an operator in logs and listings.
    #[derive(Clone, Default)]
    pub struct OperatorInfo {
        /// Its name.
        name: String = "name",
        /// Its version.
        version: String = "version",
    }
}

message! {
    /// Rights beyond a guest's own memory. Whoever runs it grants them or not.
    #[derive(Clone, Default)]
    pub struct Capabilities {
        /// In the cluster.
        kubernetes: Vec<KubernetesRule> = "kubernetes",
        /// `[scheme://]name[:port]`; the first label may be `*`.
        http: Vec<String> = "http",
        /// Keys of the configuration that are read at run time, secrets included.
        config: Vec<String> = "config",
    }
}

message! {
    /// One rule in the sense of RBAC.
    ///
    /// See <https://kubernetes.io/docs/reference/access-authn-authz/rbac/>
    #[derive(Clone, Default)]
    pub struct KubernetesRule {
        /// API groups.
        groups: Vec<String> = "groups" always,
        /// Resources by their plural names.
        resources: Vec<String> = "resources" always,
        /// Verbs.
        verbs: Vec<String> = "verbs" always,
        /// Namespaces by globs; none: those that the operator serves.
        namespaces: Vec<String> = "namespaces",
    }
}

/// A handler as it is declared: its options by their names. See SPEC.md, "Handlers".
pub type Handler = Map<String, Json>;
