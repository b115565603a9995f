//! Requests as the spec of an object describes them.

use kopf::{Api, ApiError, Call, DeleteOptions, Error, Request, RequestError, Value, json};
use std::fmt;
use std::time::Duration;

pub enum Failed {
    Request(RequestError),
    Api(ApiError),
    Spec(Error),
}

impl From<ApiError> for Failed {
    fn from(err: ApiError) -> Failed {
        match err {
            ApiError::Request(err) => Failed::Request(err),
            err => Failed::Api(err),
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Request(err) => err.fmt(f),
            Failed::Api(err) => err.fmt(f),
            Failed::Spec(err) => err.fmt(f),
        }
    }
}

/// How a request ended, as JSON.
pub fn outcome(outcome: Result<Value, Failed>) -> Value {
    match outcome {
        Ok(value) => json!({"ok": value}),
        Err(Failed::Request(err)) => json!({"refused": err.code(), "message": err.to_string()}),
        Err(Failed::Api(err)) => match err.status() {
            Some(status) => json!({
                "failed": status.code, "reason": status.reason, "message": status.message, "kind": kind_of(&err),
            }),
            None => json!({"error": err.to_string()}),
        },
        Err(Failed::Spec(err)) => json!({"error": err.to_string()}),
    }
}

fn kind_of(err: &ApiError) -> &'static str {
    match err {
        ApiError::NotFound(_) => "not found",
        ApiError::AlreadyExists(_) => "already exists",
        ApiError::Conflict(_) => "conflict",
        ApiError::Forbidden(_) => "forbidden",
        ApiError::Invalid(_) => "invalid",
        _ => "",
    }
}

/// Makes a request.
pub async fn make(c: &Call, step: &Value) -> Result<Value, Failed> {
    if let Some(fetch) = step.get("fetch") {
        return web(c, fetch).await.map_err(Failed::Request);
    }
    let mut api = c.api(text(step, "version"), text(step, "plural")).subresource(text(step, "subresource")).of();
    if let Some(namespace) = step.get("namespace") {
        api = api.within(namespace.as_str().unwrap_or_default());
    }
    let (name, object) = (text(step, "name"), &step["object"]);
    Ok(match text(step, "verb") {
        "get" => api.get(name).await?,
        "list" => list(api, step).await?,
        "create" => api.create(object).await?,
        "update" => api.update(object).await?,
        "apply" if step["force"] == true => api.force_apply(object).await?,
        "apply" => api.apply(object).await?,
        "patch" => api.patch(name, object).await?,
        "edit" => api.patch_json(name, object).await?,
        "delete" => {
            let uid = step["uid"].as_str().map(str::to_owned);
            api.delete_with(name, DeleteOptions { uid, ..DeleteOptions::default() }).await?;
            Value::Null
        }
        _ => return Err(Failed::Spec(Error::permanent("no such verb"))),
    })
}

fn text<'a>(step: &'a Value, key: &str) -> &'a str {
    step[key].as_str().unwrap_or_default()
}

async fn list(api: Api<Value>, step: &Value) -> Result<Value, ApiError> {
    let mut names = Vec::new();
    let mut objects = api.list().labels(text(step, "labels")).page(step["page"].as_u64().unwrap_or(100) as u32);
    while let Some(object) = objects.next().await? {
        names.push(object["metadata"]["name"].clone());
    }
    Ok(names.into())
}

async fn web(c: &Call, fetch: &Value) -> Result<Value, RequestError> {
    let has_body = fetch.get("body").is_some();
    let method = fetch["method"].as_str().unwrap_or(if has_body { "POST" } else { "GET" });
    let mut request = Request::new(method, text(fetch, "url"));
    for (name, value) in fetch["header"].as_object().into_iter().flatten() {
        request = request.header(name, value.as_str().unwrap_or_default());
    }
    if let Some(seconds) = fetch["timeout"].as_f64() {
        request = request.timeout(Duration::from_secs_f64(seconds));
    }
    if fetch["binary"] == true {
        request = request.body([0, 255, 254]);
    } else if let Some(body) = fetch["body"].as_str() {
        request = request.body(body);
    } else if has_body {
        request = request.json(&fetch["body"]);
    }
    let answer = c.fetch(request).await?;
    let content_type = answer.headers.get("Content-Type");
    Ok(json!({
        "status": answer.status, "body": answer.text(), "size": answer.bytes().len(), "type": content_type,
    }))
}
