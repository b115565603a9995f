"""Requests that the host makes, as far as they are granted: `kopf.api` and `kopf.fetch`.

In async functions, the calls are awaited: `pod = await kopf.api('v1', 'pods').get('x')`. In sync
functions, the call returns the response, and the instance waits for it. So does a call with
`blocking=True` in async functions: for sync functions that they call.
"""

import asyncio
import base64
import json as _json
import urllib.parse
from asyncio import events

from kopf import _codec, _context, _errors, _host, _registry

_PATCHES = {
    "merge": "application/merge-patch+json", "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
_UNSET = object()


def request(call, blocking=None):
    """Ask the host for a request. Return the response: awaitable in async functions."""
    loop = None if blocking else events._get_running_loop()
    if loop is None:
        return wait(call)
    if getattr(loop, "driven", False):
        _context.here("a request")
        return _awaited(loop.wish({"step": "call", "call": _given(call)}))
    return _ready(wait(call))


def wait(call):
    """Ask the host for a request, and wait: the whole instance does. Return the response."""
    _context.here("a request")
    answer = _host.call(_context.number(), _codec.dumps(_given(call)))
    if isinstance(answer, int):
        raise _host.HostError("the request is not made", answer)
    return _response(_codec.loads(answer))


def _given(call):
    return {key: value for key, value in call.items() if value is not None}


async def _awaited(future):
    return _response(await future)


async def _ready(response):
    return response


def _response(answer):
    error = answer.get("error")
    if error is not None:
        raise _errors.RequestError(error.get("message", ""), error.get("type", ""), error.get("kind", "arbitrary"))
    if "response" not in answer:
        raise _errors.RequestError("the handler is cancelled", "Cancelled")
    return answer["response"]


def _then(response, change):
    """Apply a function to a response, which may be awaitable."""
    if asyncio.iscoroutine(response):
        return _changed(response, change)
    return change(response)


async def _changed(response, change):
    return change(await response)


def content(body):
    """Return the fields of a call for a body in bytes."""
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body": base64.b64encode(body).decode(), "encoding": "base64"}


def bytes_of(response):
    """Return the body of a response as bytes."""
    body = response.get("body")
    if response.get("encoding") == "base64":
        return base64.b64decode(body)
    return b"" if body is None else body.encode() if isinstance(body, str) else _codec.dumps(body)


class Response:
    """The response of an HTTP server, whatever its status."""

    def __init__(self, message):
        self.status = self.status_code = message.get("status", 0)
        self.headers = {name.lower(): value if isinstance(value, str) else ", ".join(value)
                        for name, value in (message.get("headers") or {}).items()}
        self.body = bytes_of(message)

    @property
    def ok(self):
        """Whether the status is a success."""
        return 200 <= self.status < 300

    @property
    def text(self):
        """The body as a text."""
        return self.body.decode("utf-8", "replace")

    def json(self):
        """Return the body as decoded JSON."""
        return _json.loads(self.body)

    def __repr__(self):
        return f"<Response [{self.status}]>"


def fetch(url, *, method=None, headers=None, body=None, json=_UNSET, timeout=None, blocking=None):
    """Make a request to an HTTP server, which must be granted (`kopf run --allow-host NAME`).

    `body` is a text or bytes; `json` is any value. `timeout` is in seconds. A status is not an error.
    In async functions, await the call, or let the whole instance wait by `blocking=True`.
    RequestError: there is no response; its `code` says why.
    """
    sent = {name: [value] if isinstance(value, str) else list(value) for name, value in (headers or {}).items()}
    if json is not _UNSET:
        body = _codec.dumps(json)
        if not any(name.lower() == "content-type" for name in sent):
            sent["Content-Type"] = ["application/json"]
    method = (method or ("GET" if body is None else "POST")).upper()
    carried = content(bytes(body)) if isinstance(body, (bytes, bytearray)) else {"body": body}
    return _then(request({"target": "http", "method": method, "path": str(url), "headers": sent or None, **carried,
                          "timeout": timeout}, blocking), Response)


class API:
    """A client for one resource. See `api`."""

    def __init__(self, version, plural, namespace, subresource, manager, blocking=None):
        self.version, self.plural, self.namespace, self.subresource, self.manager = version, plural, namespace, subresource, manager
        self.blocking = blocking

    def get(self, name):
        """Return an object."""
        return self._send("GET", name or "")  # None would be the collection

    def text(self, name, **query):
        """Return what is a text instead of an object, such as the log of a pod. The keywords are parameters of the API."""
        query = {key: str(value) for key, value in query.items() if value is not None}  # 0 is a value: no lines of a log
        return _then(self._asked("GET", name or "", query), _text)

    def list(self, *, labels=None, fields=None, page=100):
        """Return the objects, by selectors of labels and fields."""
        query = {"limit": page, "labelSelector": labels, "fieldSelector": fields}
        if not self.blocking and events._get_running_loop() is not None:
            return self._listed(query)
        objects = []
        while _collect(self._send("GET", None, query), objects, query):
            pass
        return objects

    async def _listed(self, query):
        objects = []
        while _collect(await self._send("GET", None, query), objects, query):
            pass
        return objects

    def create(self, obj):
        """Create an object, and return it. With a subresource such as "eviction", it is for the existing object of its name."""
        return self._send("POST", _name(obj) if self.subresource else None, None, obj)

    def update(self, obj):
        """Replace an object, and return it."""
        return self._send("PUT", _name(obj), None, obj)

    def apply(self, obj, *, force=False):
        """Create an object or change the given fields (server-side apply), and return it."""
        manager = self.manager or _registry.get_default_registry().name or "kopf"
        query = {"fieldManager": manager, "force": "true" if force else None}
        return self._send("PATCH", _name(obj), query, obj, "application/apply-patch+yaml")

    def patch(self, name, patch, *, type="merge"):
        """Patch an object: "merge", "json" (a list of operations), or "strategic"; return it."""
        return self._send("PATCH", name, None, patch, _PATCHES.get(type, type))

    def delete(self, name, options=None):
        """Delete an object, with the fields of DeleteOptions if they are given."""
        body = None if options is None else {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        return self._send("DELETE", name, None, body)

    def _send(self, method, name, query=None, body=None, content=None):
        return _then(self._asked(method, name, query, body, content), _object)

    def _asked(self, method, name, query=None, body=None, content=None):
        if name is None and method not in ("GET", "POST") or name == "":
            raise _errors.RequestError(f"{method} of {self.plural}: the object has no name", "Invalid", "permanent")
        query = urllib.parse.urlencode({key: value for key, value in (query or {}).items() if value})
        headers = {"Content-Type": [content]} if content else None
        path = self._path(name) + (f"?{query}" if query else "")
        return request({"target": "kubernetes", "method": method, "path": path, "headers": headers,
                        "body": None if body is None else _codec.copied(body)}, self.blocking)

    def _path(self, name):
        root = "/apis/" if "/" in self.version else "/api/"
        path = root + self.version + (f"/namespaces/{_quoted(self.namespace)}" if self.namespace else "") + "/" + self.plural
        if name is not None:
            path += "/" + _quoted(name) + (f"/{self.subresource}" if self.subresource else "")
        return path


def api(version, plural, *, namespace=_UNSET, subresource=None, manager=None, blocking=None):
    """Return a client for a resource, as in `kopf.api('apps/v1', 'deployments')`.

    The namespace is that of the handled object by default; None is for resources without one,
    and for listings of all namespaces. The requests must be granted (`kopf run --allow-kubernetes`).
    In async functions, await each call, or let the whole instance wait by `blocking=True`.
    APIError: the API server refuses. RequestError: there is no response.
    """
    if namespace is _UNSET:
        namespace = _context.here("kopf.api() without a namespace").header.get("namespace")
    return API(version, plural, namespace, subresource, manager, blocking)


def _collect(found, objects, query):
    """Add a page to a list. Tell whether there are more, which the query then asks for."""
    objects += found.get("items") or ()
    query["continue"] = (found.get("metadata") or {}).get("continue")
    return bool(query["continue"])


def _text(response):
    _object(response)
    return bytes_of(response).decode("utf-8", "replace")


def _object(response):
    if response.get("status", 0) >= 300:
        raise _errors.APIError(response.get("status"), response.get("body"))
    return response.get("body")


def _name(obj):
    return ((obj or {}).get("metadata") or {}).get("name") or ""


def _quoted(text):
    return urllib.parse.quote(str(text), safe=":")
