"""Requests that the host makes, as far as they are granted: `kopf.api` and `kopf.fetch`.

In async functions, the calls are awaited: `pod = await kopf.api('v1', 'pods').get('x')`. In sync
functions, the call returns when the response is there, if the engine can wait so.
"""

import asyncio
import base64
import json as _json
import urllib.parse

from kopf import _codec, _context, _errors, _host, _registry

_PATCHES = {
    "merge": "application/merge-patch+json", "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
_UNSET = object()


def request(call):
    """Ask the host for a request. Return the response: awaitable in async functions."""
    _context.here("a request")
    call = {key: value for key, value in call.items() if value is not None}
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        loop = None
    if loop is not None and getattr(loop, "driven", False):
        return _awaited(loop.wish({"step": "call", "call": call}))
    if _host.call is None:
        raise RuntimeError("a sync function cannot wait for a request, because the instance waits for the function: "
                           "make the handler `async def`, and await the request")
    response = _response(_codec.loads(_host.call(_context.number(), _codec.dumps(call))))
    return _ready(response) if loop is not None else response


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
        async def changed():
            return change(await response)
        return changed()
    return change(response)


class Response:
    """The response of an HTTP server, whatever its status."""

    def __init__(self, message):
        self.status = self.status_code = message.get("status", 0)
        self.headers = {name.lower(): value if isinstance(value, str) else ", ".join(value)
                        for name, value in (message.get("headers") or {}).items()}
        body, encoding = message.get("body"), message.get("encoding")
        if encoding == "base64":
            self.body = base64.b64decode(body)
        else:
            self.body = b"" if body is None else body.encode() if isinstance(body, str) else _codec.dumps(body)

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


def fetch(url, *, method=None, headers=None, body=None, json=_UNSET, timeout=None):
    """Make a request to an HTTP server, which must be granted (`kopf run --allow-host NAME`).

    `body` is a text or bytes; `json` is any value. A status is not an error.
    RequestError: there is no response; its `code` says why.
    """
    sent = {name: [value] if isinstance(value, str) else list(value) for name, value in (headers or {}).items()}
    encoding = None
    if json is not _UNSET:
        body = _codec.dumps(json).decode()
        sent.setdefault("Content-Type", ["application/json"])
    elif isinstance(body, (bytes, bytearray)):
        body, encoding = base64.b64encode(body).decode(), "base64"
    method = (method or ("GET" if body is None else "POST")).upper()
    return _then(request({"target": "http", "method": method, "path": str(url), "headers": sent or None, "body": body,
                          "encoding": encoding, "timeout": timeout}), Response)


class API:
    """A client for one resource. See `api`."""

    def __init__(self, version, plural, namespace, subresource, manager):
        self.version, self.plural, self.namespace, self.subresource, self.manager = version, plural, namespace, subresource, manager

    def get(self, name):
        """Return an object."""
        return self._send("GET", name)

    async def list(self, *, labels=None, fields=None, page=100):
        """Return the objects, by selectors of labels and fields. Needs an async function."""
        objects, query = [], {"limit": page, "labelSelector": labels, "fieldSelector": fields}
        while True:
            found = await self._send("GET", None, query)
            objects += found.get("items") or ()
            query["continue"] = (found.get("metadata") or {}).get("continue")
            if not query["continue"]:
                return objects

    def create(self, obj):
        """Create an object, and return it."""
        return self._send("POST", None, None, obj)

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
        if name is None and method not in ("GET", "POST") or name == "":
            raise _errors.RequestError(f"{method} of {self.plural}: the object has no name", "Invalid", "permanent")
        query = urllib.parse.urlencode({key: value for key, value in (query or {}).items() if value})
        headers = {"Content-Type": [content]} if content else None
        path = self._path(name) + (f"?{query}" if query else "")
        return _then(request({"target": "kubernetes", "method": method, "path": path, "headers": headers,
                              "body": None if body is None else _codec.copied(body)}), _object)

    def _path(self, name):
        root = "/apis/" if "/" in self.version else "/api/"
        path = root + self.version + (f"/namespaces/{_quoted(self.namespace)}" if self.namespace else "") + "/" + self.plural
        if name is not None:
            path += "/" + _quoted(name) + (f"/{self.subresource}" if self.subresource else "")
        return path


def api(version, plural, *, namespace=_UNSET, subresource=None, manager=None):
    """Return a client for a resource, as in `kopf.api('apps/v1', 'deployments')`.

    The namespace is that of the handled object by default; None is for resources without one,
    and for listings of all namespaces. The requests must be granted (`kopf run --allow-kubernetes`).
    APIError: the API server refuses. RequestError: there is no response.
    """
    if namespace is _UNSET:
        namespace = _context.here("kopf.api() without a namespace").header.get("namespace")
    return API(version, plural, namespace, subresource, manager)


def _object(response):
    if response.get("status", 0) >= 300:
        raise _errors.APIError(response.get("status"), response.get("body"))
    return response.get("body")


def _name(obj):
    return ((obj or {}).get("metadata") or {}).get("name") or ""


def _quoted(text):
    return urllib.parse.quote(str(text), safe=":")
