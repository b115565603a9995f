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
    /// Rights beyond a guest's own memory. The administrator grants or denies them.
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

impl Capabilities {
    /// No rights.
    pub fn new() -> Capabilities {
        Capabilities::default()
    }

    /// Verbs for resources of API groups, in the namespaces that the operator serves. `""` is
    /// the core group, `"*"` stands for all; a subresource is `deployments/scale`.
    pub fn kubernetes(self, groups: &[&str], resources: &[&str], verbs: &[&str]) -> Capabilities {
        self.kubernetes_in(&[], groups, resources, verbs)
    }

    /// The same in other namespaces, given as globs; `"*"` for all of them, and for what has none.
    pub fn kubernetes_in(
        mut self,
        namespaces: &[&str],
        groups: &[&str],
        resources: &[&str],
        verbs: &[&str],
    ) -> Capabilities {
        self.kubernetes.push(KubernetesRule {
            groups: texts(groups),
            resources: texts(resources),
            verbs: texts(verbs),
            namespaces: texts(namespaces),
        });
        self
    }

    /// HTTP servers, as `[scheme://]name[:port]`: `https` by default, with `*` as the first label
    /// or alone.
    pub fn http(mut self, hosts: &[&str]) -> Capabilities {
        self.http.extend(texts(hosts));
        self
    }

    /// Keys of the configuration that are read at run time, secrets included.
    pub fn config(mut self, keys: &[&str]) -> Capabilities {
        self.config.extend(texts(keys));
        self
    }
}

fn texts(list: &[&str]) -> Vec<String> {
    list.iter().map(|text| (*text).to_owned()).collect()
}

/// The declaration of a handler: its options by their names. See SPEC.md, "Handlers".
pub type Handler = Map<String, Json>;
