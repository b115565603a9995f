"""The connections of httpcore in async functions, and so of httpx: requests are steps.

This is what `httpcore._backends.auto` contains in the sandbox. Sync functions use sockets,
see `_sockets`.
"""

import asyncio

import httpcore
from httpcore._backends.base import AsyncNetworkBackend, AsyncNetworkStream

from kopf import _errors, _http, _requests


class _Stream(AsyncNetworkStream):
    """A connection that carries HTTP requests to one server."""

    def __init__(self, host, port):
        self._wire, self._read = _http.Wire(host, port), b""

    async def write(self, buffer, timeout=None):
        self._wire.feed(buffer)

    async def read(self, max_bytes, timeout=None):
        if not self._read:
            await self._exchange(timeout)
        data, self._read = self._read[:max_bytes], self._read[max_bytes:]
        return data

    async def _exchange(self, timeout):
        call = self._wire.take()
        if call is None:
            return
        try:
            self._read = _http.answer(call, await _requests.request({**call, "timeout": timeout}))
        except _errors.RequestError as error:
            failed = _http.failure(error)
            if isinstance(failed, TimeoutError):
                failed = httpcore.ReadTimeout(str(error))
            elif isinstance(failed, ConnectionError):
                failed = httpcore.ConnectError(str(error))
            raise failed from None

    async def aclose(self):
        pass

    async def start_tls(self, ssl_context, server_hostname=None, timeout=None):
        self._wire.encrypted = True
        return self

    def get_extra_info(self, info):
        return True if info == "is_readable" else None


class AutoBackend(AsyncNetworkBackend):
    """The backend that httpcore chooses."""

    async def connect_tcp(self, host, port, timeout=None, local_address=None, socket_options=None):
        return _Stream(host, port)

    async def connect_unix_socket(self, path, timeout=None, socket_options=None):
        raise _http.NoHTTP(path)

    async def sleep(self, seconds):
        await asyncio.sleep(seconds)
