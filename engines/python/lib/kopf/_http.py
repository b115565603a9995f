"""HTTP/1.1 on the connections of libraries: their bytes become requests of the host, and back.

The host connects, encrypts, verifies certificates, and decides by its grants. It never gives
credentials of the API server to the script: requests to the service of the API become
requests with the identity of the operator.
"""

import urllib.parse
from http import HTTPStatus

from kopf import _requests

# The names of the API server in a cluster. No other server can have them.
API_HOSTS = frozenset({"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"})
API_PORT = 443

# Headers that belong to the connection, which is that of the host.
_OF_CONNECTION = frozenset({"accept-encoding", "connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding"})
# The host has credentials and a name of its own. Headers that give rights, as those of
# impersonation, are left to the host, which refuses them.
_OF_OPERATOR = frozenset({"authorization", "user-agent", "cookie"})
_JSON = "application/json"
_BODILESS = (204, 304)
_phrases = {status.value: status.phrase for status in HTTPStatus}
_MAX_HEAD = 64 << 10


class NoHTTP(OSError):
    """A connection carries another protocol than HTTP/1.1."""

    def __init__(self, what):
        super().__init__(f"{what}: the sandbox has no connections, the host makes HTTP requests only")


class Wire:
    """The bytes of one connection, from the library, and the requests in them."""

    def __init__(self, host, port):
        self.host, self.port, self.encrypted = str(host).strip("[]").rstrip(".").lower(), int(port), False
        self._bytes = bytearray()

    def feed(self, data):
        """Add bytes from the library."""
        self._bytes += data

    def take(self):
        """Return the next whole request as a call for the host; None if there is none yet."""
        end = self._bytes.find(b"\r\n\r\n")
        if end < 0:
            self._check()
            return None
        first, *lines = self._bytes[:end].decode("latin-1").split("\r\n")
        method, target = self._first(first)
        headers = [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        body, used = self._body(end + 4, {name.lower(): value for name, value in headers})
        if body is None:
            return None
        del self._bytes[:used]
        return self._call(method, target, headers, body)

    def pending(self):
        """Tell whether there are bytes that are no whole request."""
        return bool(self._bytes)

    def begun(self):
        """Tell whether the head of a request is there."""
        return b"\r\n\r\n" in self._bytes

    def _check(self):
        """Refuse what cannot begin a request."""
        line, newline, _ = self._bytes[:_MAX_HEAD].partition(b"\r\n")
        if len(self._bytes) > _MAX_HEAD or line and not line[:1].isalpha():
            raise NoHTTP(f"{self.host}:{self.port}")
        if newline:
            self._first(line.decode("latin-1"))

    def _first(self, line):
        method, _, rest = line.partition(" ")
        target, _, version = rest.rpartition(" ")
        if not version.startswith("HTTP/1."):
            raise NoHTTP(f"{self.host}:{self.port}")
        if method == "CONNECT" or not target.startswith("/"):
            raise NoHTTP(f"{method} {target}, a request to a proxy")
        return method, target

    def _body(self, at, headers):
        """Return the body and the position behind it; None if it is not there yet."""
        if "upgrade" in headers:
            raise NoHTTP(f"a connection of {headers['upgrade']} to {self.host}")
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return self._chunks(at)
        size = int(headers.get("content-length") or 0)
        if len(self._bytes) < at + size:
            return None, 0
        return bytes(self._bytes[at:at + size]), at + size

    def _chunks(self, at):
        body = bytearray()
        while True:
            end = self._bytes.find(b"\r\n", at)
            if end < 0:
                return None, 0
            size = int(bytes(self._bytes[at:end]).partition(b";")[0], 16)
            at = end + 2 + size + 2
            if len(self._bytes) < at:
                return None, 0
            if size == 0:
                return bytes(body), at
            body += self._bytes[end + 2:end + 2 + size]

    def _call(self, method, target, headers, body):
        api = self.encrypted and self.host in API_HOSTS and self.port == API_PORT
        call = {"target": "kubernetes" if api else "http", "method": method, "verbatim": True,
                "path": plain(target) if api else self._url(target), "headers": (_api_headers if api else _web_headers)(headers)}
        if body:
            call |= _requests.content(body)
        return call

    def _url(self, target):
        scheme, port = ("https", 443) if self.encrypted else ("http", 80)
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}{'' if self.port == port else f':{self.port}'}{target}"


def plain(target):
    """Return a path of the API with the characters themselves: the host refuses escapes.

    An escape that would be a separator stays one, so that the host refuses it.
    """
    path, question, query = target.partition("?")
    segments = [(_unquoted(segment) if "%" in segment else segment) for segment in path.split("/")]
    return "/".join(segments) + question + query


def _unquoted(segment):
    text = urllib.parse.unquote(segment)
    return segment if set(text) & set("/?#%") else text


def _web_headers(headers):
    found = {}
    for name, value in headers:
        if name.lower() not in _OF_CONNECTION:
            found.setdefault(name, []).append(value)
    return found


def _api_headers(headers):
    found = {}
    for name, value in headers:
        lower = name.lower()
        if lower in _OF_CONNECTION or lower in _OF_OPERATOR or lower == "accept" and not value.startswith(_JSON):
            continue
        if lower == "accept":
            value = value.partition(",")[0]
        elif lower == "content-type":
            value = value.partition(";")[0].strip()
        found.setdefault(name, []).append(value)
    return found


def answer(call, response):
    """Return the bytes of a response, and of the end of the connection behind it."""
    status = response.get("status", 0)
    body = _requests.bytes_of(response)
    lines = [f"HTTP/1.1 {status} {_phrases.get(status, '')}"]
    sized = call["method"] == "HEAD" or status in _BODILESS
    for name, values in (response.get("headers") or {}).items():
        if name.lower() in ("connection", "keep-alive", "transfer-encoding") or name.lower() == "content-length" and not sized:
            continue
        lines += [f"{name}: {value}" for value in values]
    if not sized:
        lines.append(f"Content-Length: {len(body)}")
    lines.append("Connection: close\r\n\r\n")
    return "\r\n".join(lines).encode("latin-1", "replace") + body


def failure(error):
    """Return the exception for a request without a response, as libraries expect it.

    What the host refuses stays a RequestError, which libraries do not catch: the handler fails
    with the reason of the host, which names the grant.
    """
    if error.code == "Timeout":
        return TimeoutError(str(error))
    if error.code == "Unreachable":
        return ConnectionError(str(error))
    return error
