//! What the host asks for. See SPEC.md, "start" and "ask".

use crate::message::{Field, message, write_key};
use crate::reader::Reader;
use crate::step::Error;
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

message! {
    /// What register gets.
    #[derive(Default)]
    pub struct RegisterRequest {
        /// The version that the host speaks with this guest.
        abi: u32 = "abi" always,
        /// Name and version of the host.
        host: String = "host",
        /// Everything that is configured, but secrets.
        config: BTreeMap<String, String> = "config",
    }
}

message! {
    /// The header of the frame that start gets: the kwargs, but for what is in the body.
    ///
    /// See <https://docs.kopf.dev/en/latest/kwargs/>
    #[derive(Default)]
    pub struct Invocation {
        /// The position in the registration, or among the children of the parent.
        handler: usize = "handler" always,
        /// The task that declared the handler; 0 for handlers of the registration.
        parent: u32 = "parent",
        /// The kind of the handler.
        kind: String = "kind" always,
        /// The full id.
        id: String = "id" always,
        /// As it was registered.
        param: Option<Json> = "param",
        /// 0 at the first attempt.
        retry: u32 = "retry" always,
        /// The time of the first attempt, RFC 3339.
        started: String = "started",
        /// Seconds since then.
        runtime: f64 = "runtime" always,
        /// The resource of the object.
        resource: Option<Rc<Resource>> = "resource",
        /// Of the object, if it has one.
        name: String = "name",
        /// Of the object, if it has one.
        namespace: String = "namespace",
        /// Of the object, if it has one.
        uid: String = "uid",
        /// create, update, delete, resume.
        reason: String = "reason",
        /// What old, new and diff are about.
        field: Vec<String> = "field",
        /// The type of a watch event; null in the initial listing.
        event_type: Option<String> = "type",
        /// startup, cleanup, authentication, probe.
        activity: String = "activity",
        /// The current settings, for activities.
        settings: Option<Json> = "settings",
        /// The host's own credentials, for login handlers.
        logins: Vec<String> = "logins",
        /// The review, for admission handlers.
        admission: Option<Admission> = "admission",
        /// The step that a handler of conversions is to make.
        conversion: Option<Conversion> = "conversion",
        /// Names of the indices of the operator.
        indices: Vec<String> = "indices",
    }
}

message! {
    /// The resource of an object, as the cluster describes it.
    ///
    /// Kopf: `kopf.Resource`.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Resource {
        /// The API group; empty for core resources.
        group: String = "group" always,
        /// The version.
        version: String = "version" always,
        /// The plural name, which is used in URLs.
        plural: String = "plural" always,
        /// The kind, as in manifests.
        kind: String = "kind",
        /// The singular name.
        singular: String = "singular",
        /// Short names.
        shortcuts: Vec<String> = "shortcuts",
        /// Categories.
        categories: Vec<String> = "categories",
        /// Subresources, such as `status`.
        subresources: Vec<String> = "subresources",
        /// Whether its objects are in namespaces.
        namespaced: bool = "namespaced" always,
        /// Whether this is the preferred version of the group.
        preferred: bool = "preferred" always,
        /// What the cluster can do with it.
        verbs: Vec<String> = "verbs",
    }
}

/// Most messages are about the resource of the one before: it is kept, and read again only if it
/// is another one.
impl Field for Rc<Resource> {
    fn read(from: &mut Reader) -> Self {
        thread_local! {
            static LATEST: RefCell<(Vec<u8>, Rc<Resource>)> = RefCell::default();
        }
        LATEST.with_borrow_mut(|(known, resource)| {
            if !from.skip(known) {
                let text = from.value();
                let mut reader = Reader::new(text);
                *resource = Rc::new(Resource::read(&mut reader));
                *known = text.to_vec();
                if reader.is_broken() {
                    known.clear();
                    from.fail();
                }
            }
            resource.clone()
        })
    }

    fn write(&self, to: &mut Vec<u8>) {
        Resource::write(self, to);
    }

    fn is_empty(&self) -> bool {
        false
    }
}

message! {
    /// One step between two versions of a resource: the object is in the first one.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Conversion {
        /// The version of the object.
        from: String = "from",
        /// The version that is wanted.
        to: String = "to",
    }
}

message! {
    /// The kwargs of validating and mutating handlers.
    ///
    /// See <https://docs.kopf.dev/en/latest/admission/>
    #[derive(Clone, Default)]
    pub struct Admission {
        /// CREATE, UPDATE, DELETE, CONNECT.
        operation: String = "operation",
        /// Empty for the object itself.
        subresource: String = "subresource",
        /// There must be no side effects.
        dryrun: bool = "dryrun" always,
        /// Who asks.
        userinfo: Option<Json> = "userinfo",
        /// Of the request.
        headers: BTreeMap<String, Vec<String>> = "headers",
        /// Of the client's certificate.
        sslpeer: Option<Json> = "sslpeer",
    }
}

/// The header of the frame that ask gets.
#[derive(Default)]
pub struct Questions {
    /// The kwargs of the cause.
    pub call: Invocation,
    /// One for each handler.
    pub questions: Vec<Question>,
}

impl Field for Questions {
    fn read(from: &mut Reader) -> Self {
        let mut message = Self::default();
        if from.enter(b'{') {
            while let Some(key) = from.key() {
                match key {
                    b"\"questions\"" => message.questions = Field::read(from),
                    key => message.call.read_field(key, from),
                }
            }
        }
        message
    }

    fn write(&self, to: &mut Vec<u8>) {
        to.push(b'{');
        self.call.write_fields(to);
        write_key("\"questions\":", to);
        self.questions.write(to);
        to.push(b'}');
    }

    fn is_empty(&self) -> bool {
        false
    }
}

message! {
    /// Asks about one handler: its callbacks in order, up to the first that is not true.
    #[derive(Default)]
    pub struct Question {
        /// As in an invocation.
        handler: usize = "handler" always,
        /// As in an invocation.
        parent: u32 = "parent",
        /// The functions.
        callbacks: Vec<Callback> = "callbacks" always,
    }
}

message! {
    /// One function of a handler, and the values to call it for: one that holds is enough.
    #[derive(Default)]
    pub struct Callback {
        /// labels, annotations, value, old, new, when, initial_delay, resource.
        option: String = "option" always,
        /// The label or the annotation.
        key: String = "key",
        /// None for some options.
        values: Vec<Value> = "values",
    }
}

message! {
    /// A value or its absence.
    #[derive(Clone, Default)]
    pub struct Value {
        /// The value; null, too.
        value: Option<Json> = "value",
        /// There is no value.
        absent: bool = "absent",
    }
}

message! {
    /// What ask answers: one for each question.
    #[derive(Default)]
    pub struct Answers {
        /// In the order of the questions.
        answers: Vec<Verdict> = "answers" always,
    }
}

message! {
    /// The value of the last callback that was evaluated, or its error.
    #[derive(Default)]
    pub struct Verdict {
        /// The value.
        value: Option<Json> = "value",
        /// The error.
        error: Option<Error> = "error",
    }
}
