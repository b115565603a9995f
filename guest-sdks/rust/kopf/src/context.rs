//! What arguments of handlers have in common. Each has all fields itself, so that `c.spec`, `c.retry`
//! and `c.patch` are fields of one type; these macros write them once.

/// Defines an argument of handlers, with its own fields and how they are made of a task: for an
/// object with a typed spec (`Name<S>`), for an object (`Name: object`), or for none (`Name`). What
/// several fields are made of has a name, too: `(task, name = value)`.
macro_rules! context {
    ($(#[$meta:meta])* pub struct $name:ident<S>($task:ident $(, $local:ident = $init:expr)?) { $($own:tt)* }) => {
        $crate::context::context!(@object [$(#[$meta])*] $name [<S = $crate::View>] [<S: $crate::Spec>] [<S>] S, $task, [$(let $local = $init;)?] $($own)*);
    };
    ($(#[$meta:meta])* pub struct $name:ident: object($task:ident) { $($own:tt)* }) => {
        $crate::context::context!(@object [$(#[$meta])*] $name [] [] [] $crate::View, $task, [] $($own)*);
    };
    ($(#[$meta:meta])* pub struct $name:ident($task:ident) {
        $($(#[$doc:meta])* pub $field:ident: $type:ty = $value:expr,)*
    }) => {
        $(#[$meta])*
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
            /// The id of the handler, in full: `fn`, `fn/spec.field`, `parent/child`.
            pub id: String,
            /// As it was registered; null if nothing was.
            pub param: ::serde_json::Value,
            /// 0 at the first attempt.
            pub retry: u32,
            /// The time since the first attempt.
            pub runtime: ::std::time::Duration,
            /// The log of the operator.
            pub log: $crate::Logger,
            /// The memo of the operator.
            pub memo: $crate::Memo,

            pub(crate) task: ::std::rc::Rc<$crate::task::Task>,
        }

        impl $name {
            pub(crate) fn of($task: &::std::rc::Rc<$crate::task::Task>) -> Result<$name, $crate::Error> {
                let $crate::Call { id, param, retry, runtime, log, memo, task } = $crate::Call::new($task);
                Ok($name { $($field: $value,)* id, param, retry, runtime, log, memo, task })
            }

            $crate::context::calls!();
        }
    };
    (@object [$($meta:tt)*] $name:ident [$($default:tt)*] [$($bound:tt)*] [$($param:tt)*] $spec:ty, $task:ident, [$($first:tt)*]
        $($(#[$doc:meta])* pub $field:ident: $type:ty = $value:expr,)*) => {
        $($meta)*
        pub struct $name $($default)* {
            $($(#[$doc])* pub $field: $type,)*
            /// The spec. If it is of a type of yours and does not fit into it, the handler
            /// is not called, and fails for good.
            pub spec: $spec,
            /// The whole object, as the API server sent it.
            pub body: $crate::View,
            /// Its metadata.
            pub meta: $crate::View,
            /// Its status.
            pub status: $crate::View,
            /// Its labels.
            pub labels: $crate::View,
            /// Its annotations.
            pub annotations: $crate::View,
            /// Its name; empty if it has none, as while it is created with `generateName`.
            pub name: String,
            /// Its namespace, if it is in one.
            pub namespace: Option<String>,
            /// Its uid; empty if it has none.
            pub uid: String,
            /// Its resource.
            pub resource: $crate::Resource,
            /// The id of the handler, in full: `fn`, `fn/spec.field`, `parent/child`.
            pub id: String,
            /// As it was registered; null if nothing was.
            pub param: ::serde_json::Value,
            /// 0 at the first attempt.
            pub retry: u32,
            /// The time since the first attempt.
            pub runtime: ::std::time::Duration,
            /// The log of the object.
            pub log: $crate::Logger,
            /// The memo of the object.
            pub memo: $crate::Memo,

            pub(crate) task: ::std::rc::Rc<$crate::task::Task>,
        }

        impl $($bound)* $name $($param)* {
            pub(crate) fn of($task: &::std::rc::Rc<$crate::task::Task>) -> Result<Self, $crate::Error> {
                let $crate::Call { id, param, retry, runtime, log, memo, task } = $crate::Call::new($task);
                let body = $task.body.borrow().clone().unwrap_or_else($crate::View::nothing);
                let meta = body.member("metadata");
                $($first)*
                Ok($name {
                    $($field: $value,)*
                    spec: $crate::object::decode(body.member("spec"))?,
                    status: body.member("status"),
                    labels: meta.member("labels"),
                    annotations: meta.member("annotations"),
                    meta,
                    body,
                    name: $task.call.name.clone(),
                    namespace: (!$task.call.namespace.is_empty()).then(|| $task.call.namespace.clone()),
                    uid: $task.call.uid.clone(),
                    resource: $task.call.resource.as_deref().cloned().unwrap_or_default(),
                    id, param, retry, runtime, log, memo, task,
                })
            }

            /// The object as the owner of others: see [`Owner`](crate::Owner).
            pub fn owner(&self) -> $crate::Owner {
                $crate::Owner::new(self.body.clone())
            }

            $crate::context::calls!();
        }
    };
}

/// The methods of all arguments of handlers.
macro_rules! calls {
    () => {
        /// What every handler gets, for functions that are called by handlers of several kinds.
        pub fn call(&self) -> $crate::Call {
            $crate::Call::new(&self.task)
        }

        /// The time of the first attempt; `None` if the host does not say.
        pub fn started(&self) -> Option<::std::time::SystemTime> {
            self.call().started()
        }

        /// An index of the operator, by the id of its handler. One that does not exist looks empty.
        ///
        /// See <https://docs.kopf.dev/en/latest/indexing/>
        pub fn index(&self, id: &str) -> $crate::Index {
            self.call().index(id)
        }

        /// The memo that all handlers of the operator share.
        pub fn operator_memo(&self) -> $crate::Memo {
            self.call().operator_memo()
        }

        /// Random numbers for this call, seeded by the host.
        pub fn rand(&self) -> $crate::Rng {
            self.call().rand()
        }

        /// Random bytes of the host, fit for secrets.
        pub fn random_bytes<const N: usize>(&self) -> Result<[u8; N], ::kopf_abi::Errno> {
            self.call().random_bytes()
        }

        /// A client for a resource: see [`Call::api`](crate::Call::api).
        pub fn api(&self, version: &str, plural: &str) -> $crate::Api {
            self.call().api(version, plural)
        }

        /// Makes a request to an HTTP server: see [`Call::fetch`](crate::Call::fetch).
        pub async fn fetch(&self, request: $crate::Request) -> Result<$crate::Response, $crate::RequestError> {
            self.call().fetch(request).await
        }
    };
}

/// The method `sleep` of all arguments of handlers but daemons, which have their own.
macro_rules! sleep {
    () => {
        /// Lets time pass, and the host do other work meanwhile.
        ///
        /// Errors: the handler is cancelled. It may clean up, and is to return then.
        pub async fn sleep(&self, time: ::std::time::Duration) -> Result<(), $crate::Cancelled> {
            self.call().sleep(time).await
        }
    };
}

/// The method `object` of arguments of handlers for an object.
macro_rules! object {
    ($spec:ty) => {
        /// The object, for functions that are called by handlers of several kinds.
        pub fn object(&self) -> $crate::Object<$spec>
        where
            $spec: Clone,
        {
            $crate::Object {
                spec: self.spec.clone(),
                body: self.body.clone(),
                meta: self.meta.clone(),
                status: self.status.clone(),
                labels: self.labels.clone(),
                annotations: self.annotations.clone(),
                name: self.name.clone(),
                namespace: self.namespace.clone(),
                uid: self.uid.clone(),
                resource: self.resource.clone(),
                id: self.id.clone(),
                param: self.param.clone(),
                retry: self.retry,
                runtime: self.runtime,
                log: self.log.clone(),
                memo: self.memo.clone(),
                task: self.task.clone(),
            }
        }
    };
}

/// Makes types arguments of handlers.
macro_rules! arguments {
    ($($name:ident$(<$param:ident>)?),*) => {$(
        impl$(<$param: $crate::Spec>)? $crate::Argument for $name$(<$param>)? {
            fn make(task: &::std::rc::Rc<$crate::task::Task>) -> Result<Self, $crate::Error> {
                Self::of(task)
            }
        }
    )*};
}

pub(crate) use {arguments, calls, context, object, sleep};
