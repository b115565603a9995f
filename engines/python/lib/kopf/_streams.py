"""Connections of event loops, and so of aiohttp, and of what uses it: what is written is a request, as in `_sockets`."""

import asyncio

from kopf import _errors, _http, _requests, _sockets

_PIECE = 256 << 10  # bytes that a protocol gets at once: it can pause in between
_SILENCE = 5.0  # seconds until a connection without a request is refused: other protocols wait for the server's first word


class Transport(asyncio.Transport):
    """A connection that carries one HTTP request to a server."""

    def __init__(self, loop, sock, protocol, context):
        encrypted = {"sslcontext": context, "ssl_object": sock} if context else {}
        super().__init__({"socket": sock, "peername": sock.getpeername(), "sockname": sock.getsockname(), **encrypted})
        self._loop, self._sock, self._protocol = loop, sock, protocol
        self._read = None  # what the protocol has not got of the response
        self._paused, self._closing, self._request = False, False, None
        self._silence = loop.call_later(_SILENCE, self._refuse)

    def _refuse(self):
        if not self._sock.begun():
            self._end(_http.NoHTTP("%s:%s" % self._sock.getpeername()))

    def write(self, data):
        if self._closing:
            return
        self._sock.send(data)
        try:
            call = self._sock.take()
        except (OSError, ValueError) as error:
            self._end(error)
            return
        if call is not None:
            self._silence.cancel()
            self._request = self._loop.create_task(self._exchange(call))

    async def _exchange(self, call):
        try:
            response = await _requests.request(call)
            self._request, self._read = None, _http.answer(call, response)
            self._deliver()
        except Exception as error:
            self._request = None
            self._end(_http.failure(error) if isinstance(error, _errors.RequestError) else error)

    def _deliver(self):
        """Give the response to the protocol, and the end of the connection behind it."""
        while self._read and not self._paused and not self._closing:
            piece, self._read = self._read[:_PIECE], self._read[_PIECE:]
            self._protocol.data_received(piece)
        if self._read == b"" and not self._paused and not self._closing:
            self._protocol.eof_received()
            self.close()

    def pause_reading(self):
        self._paused = True

    def resume_reading(self):
        self._paused = False
        self._loop.call_soon(self._deliver)

    def is_reading(self):
        return not self._paused and not self._closing

    def _end(self, error):
        if self._closing:
            return
        self._closing = True
        self._silence.cancel()
        if self._request is not None:
            self._request.cancel()
        if not self._loop.is_closed():
            self._loop.call_soon(self._protocol.connection_lost, error)

    def close(self):
        self._end(None)

    abort = close

    def is_closing(self):
        return self._closing

    def get_protocol(self):
        return self._protocol

    def set_protocol(self, protocol):
        self._protocol = protocol

    def can_write_eof(self):
        return False

    def get_write_buffer_size(self):
        return 0

    def set_write_buffer_limits(self, high=None, low=None):
        pass  # all that is written is taken at once


async def connect(loop, factory, host=None, port=None, *, ssl=None, sock=None, **options):
    """Return a transport and its protocol: this is `create_connection` of loops."""
    if sock is None:
        sock = _sockets.connection((host, port))
    if ssl:
        sock.encrypt()
    protocol = factory()
    transport = Transport(asyncio.get_running_loop(), sock, protocol, ssl)
    protocol.connection_made(transport)
    return transport, protocol
