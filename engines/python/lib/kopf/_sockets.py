"""Sockets for HTTP: what libraries write is a request of the host, what they read its response.

So urllib, http.client, and packages upon them (requests, urllib3, pykube-ng, kubernetes, httpx)
reach what is granted. A socket is plain Python, and there is no connection: a request is made
when its response is read, and the instance waits for it.
"""

import errno
import io
import socket
import ssl

from kopf import _errors, _http, _requests

_default_timeout = None
NO_SERVERS = "the sandbox has no servers: the host serves probes (--liveness), metrics (--listen) and webhooks (--admission-server)"

# Options and flags that libraries and scripts name, and that have no effect here: WASI does not define them.
_OPTIONS = {"AI_NUMERICSERV": 1024, "SO_REUSEADDR": 2, "SO_ERROR": 4, "SO_BROADCAST": 6, "SO_SNDBUF": 7, "SO_RCVBUF": 8, "SO_KEEPALIVE": 9, "SO_LINGER": 13}


class Socket:
    """A connection that carries HTTP requests to one server."""

    def __init__(self, family=socket.AF_INET, type=socket.SOCK_STREAM, proto=0, fileno=None):
        self.family, self.type, self.proto = family, type, proto
        self._wire, self._read, self._timeout = None, b"", _default_timeout

    def connect(self, address):
        if self.type != socket.SOCK_STREAM or not isinstance(address, tuple):
            raise _http.NoHTTP(f"{address!r}")
        self._wire = _http.Wire(*address[:2])

    def connect_ex(self, address):
        self.connect(address)
        return 0

    def encrypt(self):
        """Let the host use TLS."""
        self._wire.encrypted = True

    def getpeercert(self, binary_form=False):
        """Return a certificate of the server's name: the host verifies the real one."""
        if binary_form:
            raise ssl.SSLError("the certificate of a server stays at the host, which verifies it: no fingerprint can be compared")
        return {"subjectAltName": (("DNS", self._connected().host), ("IP Address", self._connected().host))}

    def _unknown(self):
        """Return None: TLS is that of the host."""

    version = cipher = selected_alpn_protocol = compression = _unknown

    def _connected(self):
        if self._wire is None:
            raise OSError(107, "the socket is not connected")
        return self._wire

    def begun(self):
        """Tell whether a request begins in what was sent."""
        return self._connected().begun()

    def take(self):
        """Return the next whole request as a call for the host; None if there is none yet."""
        return self._connected().take()

    def send(self, data, flags=0):
        self._connected().feed(memoryview(data).cast("B"))
        return memoryview(data).nbytes

    def sendall(self, data, flags=0):
        self.send(data)

    def sendfile(self, file, offset=0, count=None):
        file.seek(offset)
        data = file.read(-1 if count is None else count)
        return self.send(data)

    def recv(self, size, flags=0):
        if not self._read:
            self._exchange()
        data, self._read = self._read[:size], self._read[size:]
        return data

    def recv_into(self, buffer, nbytes=0, flags=0):
        view = memoryview(buffer).cast("B")
        data = self.recv(nbytes or len(view))
        view[:len(data)] = data
        return len(data)

    def _exchange(self):
        """Make the request, and keep the response. Without a request, this is the end."""
        wire, call = self._connected(), self.take()
        if call is None:
            if wire.pending():
                raise _http.NoHTTP(f"{wire.host}:{wire.port}")
            return
        if self._timeout:
            call["timeout"] = self._timeout
        try:
            self._read = _http.answer(call, _requests.wait(call))
        except _errors.RequestError as error:
            raise _http.failure(error) from None

    def makefile(self, mode="r", buffering=None, *, encoding=None, errors=None, newline=None):
        raw = _File(self)
        file = io.BufferedWriter(raw) if "w" in mode and "r" not in mode else io.BufferedReader(raw)
        return file if "b" in mode else io.TextIOWrapper(file, encoding, errors, newline)

    def settimeout(self, value):
        self._timeout = value

    def gettimeout(self):
        return self._timeout

    timeout = property(gettimeout)

    def setblocking(self, flag):
        self._timeout = None if flag else 0.0

    def getblocking(self):
        return self._timeout != 0.0

    def getpeername(self):
        wire = self._connected()
        return (wire.host, wire.port)

    def getsockname(self):
        return ("0.0.0.0", 0)

    def getsockopt(self, *args):
        return 0

    def fileno(self):
        return -1

    def _kept(self, *args):
        """Accept what has no effect: the connection is that of the host."""

    setsockopt = shutdown = close = bind = _kept

    def listen(self, backlog=None):
        raise OSError(errno.EOPNOTSUPP, NO_SERVERS)

    def detach(self):
        return -1

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()

    def __repr__(self):
        return f"<kopf socket, {self._wire and self._wire.host}>"


class _File(io.RawIOBase):
    """A socket as a file."""

    def __init__(self, sock):
        self._sock = sock

    def readable(self):
        return True

    writable = readable

    def readinto(self, buffer):
        return self._sock.recv_into(buffer)

    def write(self, data):
        return self._sock.send(data)


def connection(address, timeout=socket._GLOBAL_DEFAULT_TIMEOUT, source_address=None, *, all_errors=False):
    """Return a socket to a server."""
    sock = Socket()
    if timeout is not socket._GLOBAL_DEFAULT_TIMEOUT:
        sock.settimeout(timeout)
    sock.connect(address)
    return sock


def addresses(host, port, family=0, type=0, proto=0, flags=0):
    """Return the name itself as its address: the host resolves it."""
    host = host.decode() if isinstance(host, bytes) else host or "localhost"
    numbers = {"https": 443, "http": 80, None: 0}
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (host, numbers.get(port) or int(port or 0)))]


def set_default_timeout(value):
    global _default_timeout
    _default_timeout = value


def install():
    """Replace the functions of the module socket."""
    socket.socket = socket.SocketType = Socket
    socket.create_connection, socket.getaddrinfo = connection, addresses
    socket.gethostbyname = lambda name: name
    socket.gethostname = socket.getfqdn = lambda name="": name or "localhost"
    socket.setdefaulttimeout, socket.getdefaulttimeout = set_default_timeout, lambda: _default_timeout
    socket.has_ipv6 = False
    for name, value in _OPTIONS.items():
        vars(socket).setdefault(name, value)
