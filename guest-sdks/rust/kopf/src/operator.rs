//! The operator as a whole.

use crate::error::Error;
use crate::handler::{Handler, Lifecycle};
use kopf_abi::{self as abi, Host};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A function that is run at registration.
type Setup = Box<dyn FnOnce(&mut Operator) -> Result<(), Error>>;

/// What an operator declares: see [`operator!`](crate::operator).
#[derive(Default)]
pub struct Operator {
    pub(crate) handlers: Vec<Handler>,
    info: abi::OperatorInfo,
    lifecycle: Lifecycle,
    capabilities: Option<abi::Capabilities>,
    problems: Vec<String>,
    setups: Vec<Setup>,
}

impl Operator {
    /// An operator without handlers.
    pub fn new() -> Operator {
        Operator::default()
    }

    /// Names the operator, for logs and listings.
    pub fn name(&mut self, name: &str) -> &mut Operator {
        self.info.name = name.to_owned();
        self
    }

    /// The version of the operator, for logs and listings.
    pub fn version(&mut self, version: &str) -> &mut Operator {
        self.info.version = version.to_owned();
        self
    }

    /// Chooses the order of several handlers of one cause.
    pub fn lifecycle(&mut self, lifecycle: Lifecycle) -> &mut Operator {
        self.lifecycle = lifecycle;
        self
    }

    /// Declares rights that the operator needs beyond its own memory. The administrator
    /// grants or denies them. The operator does not start without them. In
    /// [`operator!`](crate::operator), it is the field `want`.
    ///
    /// ```
    /// # use kopf::{Capabilities, Operator};
    /// # let mut operator = Operator::new();
    /// operator.want(Capabilities::new().kubernetes(&[""], &["pods"], &["get", "list"]).http(&["api.example.com"]));
    /// ```
    pub fn want(&mut self, capabilities: abi::Capabilities) -> &mut Operator {
        let all = self.capabilities.get_or_insert_default();
        all.kubernetes.extend(capabilities.kubernetes);
        all.http.extend(capabilities.http);
        all.config.extend(capabilities.config);
        self
    }

    /// Adds a handler. The registration reports errors of the declaration.
    pub fn add(&mut self, handler: Handler) -> &mut Operator {
        if let Some(problem) = handler.problem() {
            self.problems.push(format!("handler {}: {problem}", self.handlers.len() + 1));
        }
        self.handlers.push(handler);
        self
    }

    /// Adds a function that is run at registration, when the configuration is known:
    /// see [`config`]. Its error refuses the configuration.
    pub fn setup<E: Into<Error>>(
        &mut self,
        setup: impl FnOnce(&mut Operator) -> Result<(), E> + 'static,
    ) -> &mut Operator {
        self.setups.push(Box::new(|operator| setup(operator).map_err(Into::into)));
        self
    }

    /// Runs the setups, and describes all handlers.
    pub(crate) fn register(&mut self, config: BTreeMap<String, String>) -> abi::Registration {
        CONFIG.set(config);
        for setup in std::mem::take(&mut self.setups) {
            if let Err(err) = setup(self) {
                self.problems.push(err.to_string());
            }
        }
        if !self.info.name.is_empty() {
            NAME.set(self.info.name.clone());
        }
        let lifecycle = if self.lifecycle == Lifecycle::default() { "" } else { self.lifecycle.name() };
        abi::Registration {
            sdk: concat!("rust ", env!("CARGO_PKG_VERSION")).to_owned(),
            operator: self.info.clone(),
            handlers: Some(self.handlers.iter().map(|handler| handler.declaration.clone()).collect()),
            lifecycle: lifecycle.to_owned(),
            shared_tasks: true, // each task is a future
            capabilities: self.capabilities.clone(),
            error: self.problems.join("; "),
        }
    }
}

thread_local! {
    /// The name of the operator.
    static NAME: RefCell<String> = RefCell::new("kopf".to_owned());
    /// The configuration that came with the registration.
    static CONFIG: RefCell<BTreeMap<String, String>> = const { RefCell::new(BTreeMap::new()) };
    /// Who is asked for the rest of it.
    static HOST: RefCell<Rc<dyn Host>> = RefCell::new(default_host());
}

/// The host of this build.
pub(crate) fn default_host() -> Rc<dyn Host> {
    #[cfg(target_family = "wasm")]
    return Rc::new(abi::Wasm);
    #[cfg(not(target_family = "wasm"))]
    return Rc::new(abi::Noone);
}

/// Asks another host for the configuration: that of a test.
pub(crate) fn set_host(host: Rc<dyn Host>) {
    HOST.set(host);
}

/// Uses the name of the operator, or `kopf` if it has none.
pub(crate) fn with_name<T>(f: impl FnOnce(&str) -> T) -> T {
    NAME.with_borrow(|name| f(name))
}

/// A value of the configuration of the operator, secrets included; `None` if there is
/// none. Secrets are not known at registration.
///
/// See <https://docs.kopf.dev/en/latest/configuration/>
pub fn config(key: &str) -> Option<String> {
    CONFIG.with_borrow(|config| config.get(key).cloned()).or_else(|| {
        let value = HOST.with_borrow(Rc::clone).config(key).ok()?;
        String::from_utf8(value).ok()
    })
}
