//! A client for Kubernetes.

use crate::api_error::ApiError;
use crate::call::Call;
use crate::object;
use crate::request::{self, RequestError, Response};
use crate::task::Task;
use crate::view::View;
use kopf_abi::{self as abi, target};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fmt::Write;
use std::marker::PhantomData;
use std::rc::Rc;

/// A client for one resource of Kubernetes, see [`Call::api`]. It makes requests as the operator,
/// within what is [granted](crate::Operator::want) to it, and waits for the answers; the host does
/// other work meanwhile.
///
/// ```
/// # use kopf::{Change, json};
/// # use serde::Deserialize;
/// #[derive(Deserialize)]
/// struct ConfigMap {
///     data: std::collections::BTreeMap<String, String>,
/// }
///
/// async fn create_fn(c: Change) -> kopf::Result {
///     let defaults = c.api("v1", "configmaps").of::<ConfigMap>().get("defaults").await?;
///     let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{
///         "name": "main", "image": defaults.data["image"],
///     }]}});
///     c.owner().adopt(&mut pod)?;
///     c.api("v1", "pods").create(&pod).await?;
///     Ok(())
/// }
/// ```
///
/// Objects are given as anything that [`serde`] can write, and come back as views, or in the type
/// that was chosen with [`of`](Api::of).
pub struct Api<T = View> {
    version: String,
    plural: String,
    namespace: String,
    subresource: String,
    manager: Option<String>,
    task: Rc<Task>,
    object: PhantomData<fn() -> T>,
}

impl<T> Clone for Api<T> {
    fn clone(&self) -> Api<T> {
        self.retyped()
    }
}

impl Call {
    /// A client for a resource, by the version of its API with the group (`v1`, `apps/v1`) and
    /// its plural: in the namespace of the handled object, if it has one.
    pub fn api(&self, version: &str, plural: &str) -> Api {
        Api {
            version: version.to_owned(),
            plural: plural.to_owned(),
            namespace: self.task.call.namespace.clone(),
            subresource: String::new(),
            manager: None,
            task: self.task.clone(),
            object: PhantomData,
        }
    }
}

/// How an object is deleted. The default leaves it to the API.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// Of children: `Background`, `Foreground`, `Orphan`.
    pub propagation: Option<String>,
    /// The object must have this UID, or else the error is a conflict.
    pub uid: Option<String>,
    /// The object must have this resource version, or else the error is a conflict.
    pub resource_version: Option<String>,
    /// Until the object is gone.
    pub grace_seconds: Option<u32>,
}

impl<T> Api<T> {
    fn retyped<U>(&self) -> Api<U> {
        Api {
            version: self.version.clone(),
            plural: self.plural.clone(),
            namespace: self.namespace.clone(),
            subresource: self.subresource.clone(),
            manager: self.manager.clone(),
            task: self.task.clone(),
            object: PhantomData,
        }
    }

    /// The same client for objects of another type: it may be of a part of them.
    pub fn of<U: DeserializeOwned + 'static>(self) -> Api<U> {
        self.retyped()
    }

    /// The same client for another namespace.
    pub fn within(mut self, namespace: &str) -> Api<T> {
        self.namespace = namespace.to_owned();
        self
    }

    /// The same client for the whole cluster: to list all namespaces, and for resources without them.
    pub fn everywhere(self) -> Api<T> {
        self.within("")
    }

    /// The same client for a subresource of objects: `status`, `scale`.
    pub fn subresource(mut self, name: &str) -> Api<T> {
        self.subresource = name.to_owned();
        self
    }

    /// The same client with another owner of the fields that are applied. By default it is the
    /// name of the operator, or `kopf`.
    pub fn manager(mut self, name: &str) -> Api<T> {
        self.manager = Some(name.to_owned());
        self
    }

    fn path(&self, name: &str) -> String {
        let root = if self.version.contains('/') { "apis" } else { "api" };
        let mut path = format!("/{root}/{}", self.version);
        if !self.namespace.is_empty() {
            path += "/namespaces/";
            escape(&mut path, &self.namespace);
        }
        path += "/";
        path += &self.plural;
        if !name.is_empty() {
            path += "/";
            escape(&mut path, name);
            if !self.subresource.is_empty() {
                path += "/";
                path += &self.subresource;
            }
        }
        path
    }

    /// Reads what is a text instead of an object, such as the log of a pod. The query has the
    /// parameters of the API.
    ///
    /// ```
    /// # use kopf::Change;
    /// async fn tail(c: &Change) -> kopf::Result<String> {
    ///     let pods = c.api("v1", "pods").subresource("log");
    ///     Ok(pods.text("web-0", "container=main&tailLines=100").await?)
    /// }
    /// ```
    pub async fn text(&self, name: &str, query: &str) -> Result<String, ApiError> {
        Ok(self.named("GET", name, query, None).await?.text().into_owned())
    }

    /// Makes a request to an object, and not to the collection where it has no name.
    async fn named(&self, method: &str, name: &str, query: &str, body: Body) -> Result<Response, ApiError> {
        if name.is_empty() {
            let problem = format!("{method} of {}: the object has no name", self.plural);
            return Err(RequestError::Invalid(problem).into());
        }
        self.send(method, name, query, body).await
    }

    /// Makes a request. A status that is an error is one.
    async fn send(&self, method: &str, name: &str, query: &str, body: Body) -> Result<Response, ApiError> {
        let mut path = self.path(name);
        if !query.is_empty() {
            path += "?";
            path += query;
        }
        let mut call = abi::Call {
            target: target::KUBERNETES.to_owned(),
            method: method.to_owned(),
            path,
            ..abi::Call::default()
        };
        if let Some((body, content_type)) = body {
            call.body = Some(body);
            call.headers.insert("Content-Type".to_owned(), vec![content_type.to_owned()]);
        }
        let answer = request::send(&self.task, call).await?;
        if answer.status < 300 { Ok(answer) } else { Err(ApiError::of(answer)) }
    }
}

/// The body of a request, and its type.
type Body = Option<(Value, &'static str)>;

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const OPERATIONS: &str = "application/json-patch+json";

fn body(object: &impl Serialize, content_type: &'static str) -> Result<Body, ApiError> {
    let value = serde_json::to_value(object).map_err(|err| RequestError::Invalid(format!("the object: {err}")))?;
    Ok(Some((value, content_type)))
}

/// The name in an object; empty if it has none.
fn name_of(body: &Body) -> String {
    let name = body.as_ref().and_then(|(object, _)| object["metadata"]["name"].as_str());
    name.unwrap_or_default().to_owned()
}

impl<T: DeserializeOwned + 'static> Api<T> {
    /// Reads an object.
    pub async fn get(&self, name: &str) -> Result<T, ApiError> {
        typed(self.named("GET", name, "", None).await)
    }

    /// Lists objects, page by page, as they are asked for.
    ///
    /// ```
    /// # use kopf::{Change, Value};
    /// async fn names(c: &Change) -> kopf::Result<Vec<Value>> {
    ///     let mut names = Vec::new();
    ///     let mut pods = c.api("v1", "pods").list().labels("app=db");
    ///     while let Some(pod) = pods.next().await? {
    ///         names.push(pod["metadata"]["name"].clone());
    ///     }
    ///     Ok(names)
    /// }
    /// ```
    pub fn list(&self) -> List<T> {
        List {
            api: self.retyped(),
            labels: String::new(),
            fields: String::new(),
            page: 100,
            next: Some(String::new()),
            items: VecDeque::new(),
        }
    }

    /// Creates an object, and returns the created object. Its `apiVersion` and `kind` must be set.
    ///
    /// With a [subresource](Api::subresource) such as `eviction`, it is for the existing object that the name says.
    ///
    /// Errors: [`ApiError::AlreadyExists`], if its name is taken.
    pub async fn create(&self, object: &impl Serialize) -> Result<T, ApiError> {
        let body = body(object, JSON)?;
        typed(match self.subresource.is_empty() {
            true => self.send("POST", "", "", body).await,
            false => self.named("POST", &name_of(&body), "", body).await,
        })
    }

    /// Replaces an object.
    ///
    /// Errors: [`ApiError::Conflict`], if it has a `resourceVersion` that is not the newest one.
    pub async fn update(&self, object: &impl Serialize) -> Result<T, ApiError> {
        let body = body(object, JSON)?;
        typed(self.named("PUT", &name_of(&body), "", body).await)
    }

    /// Creates an object, or changes the given fields if no other manager owns them: server-side
    /// apply. The fields that it has are owned by the [manager](Api::manager) then; fields of
    /// earlier calls that it has no more are removed.
    ///
    /// Errors: [`ApiError::Conflict`], if others own fields of it.
    ///
    /// See <https://kubernetes.io/docs/reference/using-api/server-side-apply/>
    pub async fn apply(&self, object: &impl Serialize) -> Result<T, ApiError> {
        typed(self.applied(body(object, APPLY)?, "").await)
    }

    /// Does as [`apply`](Api::apply), and takes over fields that are owned by others.
    pub async fn force_apply(&self, object: &impl Serialize) -> Result<T, ApiError> {
        typed(self.applied(body(object, APPLY)?, "&force=true").await)
    }

    async fn applied(&self, body: Body, how: &str) -> Result<Response, ApiError> {
        let mut query = "fieldManager=".to_owned();
        match &self.manager {
            Some(manager) => escape(&mut query, manager),
            None => crate::operator::with_name(|name| escape(&mut query, name)),
        }
        query += how;
        self.named("PATCH", &name_of(&body), &query, body).await
    }

    /// Merges a patch into an object (RFC 7386).
    pub async fn patch(&self, name: &str, patch: &impl Serialize) -> Result<T, ApiError> {
        typed(self.named("PATCH", name, "", body(patch, MERGE)?).await)
    }

    /// Edits an object with a list of operations (RFC 6902).
    pub async fn patch_json(&self, name: &str, operations: &impl Serialize) -> Result<T, ApiError> {
        typed(self.named("PATCH", name, "", body(operations, OPERATIONS)?).await)
    }

    /// Deletes an object. It may be there for a while, with finalizers.
    pub async fn delete(&self, name: &str) -> Result<(), ApiError> {
        self.named("DELETE", name, "", None).await.map(drop)
    }

    /// Does as [`delete`](Api::delete), with options.
    pub async fn delete_with(&self, name: &str, how: DeleteOptions) -> Result<(), ApiError> {
        let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        if let Some(propagation) = how.propagation {
            options["propagationPolicy"] = propagation.into();
        }
        if let Some(seconds) = how.grace_seconds {
            options["gracePeriodSeconds"] = seconds.into();
        }
        if let Some(uid) = how.uid {
            options["preconditions"]["uid"] = uid.into();
        }
        if let Some(version) = how.resource_version {
            options["preconditions"]["resourceVersion"] = version.into();
        }
        self.named("DELETE", name, "", Some((options, JSON))).await.map(drop)
    }
}

/// A listing, see [`Api::list`].
pub struct List<T = View> {
    api: Api<T>,
    labels: String,
    fields: String,
    page: u32,
    /// Where the next page begins; `None` after the last one.
    next: Option<String>,
    items: VecDeque<Value>,
}

impl<T: DeserializeOwned + 'static> List<T> {
    /// Only objects with these labels: `app=db,tier!=test`.
    pub fn labels(mut self, selector: impl Into<String>) -> List<T> {
        self.labels = selector.into();
        self
    }

    /// Only objects with these fields, as far as the API can select by them: `metadata.name=x`.
    pub fn fields(mut self, selector: impl Into<String>) -> List<T> {
        self.fields = selector.into();
        self
    }

    /// So many objects for each request: 100 by default.
    pub fn page(mut self, size: u32) -> List<T> {
        self.page = size.max(1);
        self
    }

    /// The next object; `None` after the last one.
    ///
    /// Errors: [`ApiError::Expired`], if so much time has passed that the next page is of another
    /// listing. After an error, the same page is asked for again.
    pub async fn next(&mut self) -> Result<Option<T>, ApiError> {
        while self.items.is_empty() {
            let Some(next) = &self.next else { return Ok(None) };
            let mut query = format!("limit={}", self.page);
            for (key, value) in [("labelSelector", &self.labels), ("fieldSelector", &self.fields), ("continue", next)] {
                if !value.is_empty() {
                    let _ = write!(query, "&{key}=");
                    escape(&mut query, value);
                }
            }
            let page = self.api.send("GET", "", &query, None).await?.into_json();
            self.next = page["metadata"]["continue"].as_str().filter(|next| !next.is_empty()).map(str::to_owned);
            self.items = page.get("items").and_then(Value::as_array).cloned().unwrap_or_default().into();
        }
        self.items.pop_front().map(|item| Ok(object::decode(View::from(item))?)).transpose()
    }

    /// All objects. They are all in memory at once: prefer [`next`](List::next) where there may be
    /// many.
    pub async fn all(mut self) -> Result<Vec<T>, ApiError> {
        let mut all = Vec::new();
        while let Some(item) = self.next().await? {
            all.push(item);
        }
        Ok(all)
    }
}

fn typed<T: DeserializeOwned + 'static>(answer: Result<Response, ApiError>) -> Result<T, ApiError> {
    Ok(object::decode(answer?.into_json())?)
}

/// Appends a text to a URL: to its path or its query.
fn escape(url: &mut String, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => url.push(byte.into()),
            _ => {
                let _ = write!(url, "%{byte:02X}");
            }
        }
    }
}
