"""Servers of admission webhooks. The host runs them; these classes describe them.

They are assigned to the setting `admission.server` in a startup handler, which needs the grant
`--allow-setting admission.server`.
"""

import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal, Protocol, TypedDict

Headers = dict[str, str]
SSLPeer = dict[str, Any]
Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class UserInfo(TypedDict):
    username: str
    uid: str
    groups: list[str]


class WebhookClientConfigService(TypedDict, total=False):
    namespace: str | None
    name: str | None
    path: str | None
    port: int | None


class WebhookClientConfig(TypedDict, total=False):
    caBundle: str | None
    url: str | None
    service: WebhookClientConfigService | None


class WebhookFn(Protocol):
    def __call__(self, request: Any, *, webhook: str | None = None, headers: Headers | None = None,
                 sslpeer: SSLPeer | None = None) -> Awaitable[Any]: ...


WebhookServerProtocol = Callable[[WebhookFn], AsyncIterator[WebhookClientConfig]]

_SERVER = ("addr", "port", "path", "host", "cadata", "cafile", "cadump", "context", "insecure", "certfile", "pkeyfile",
           "password", "extra_sans", "verify_mode", "verify_cafile", "verify_capath", "verify_cadata", "file_check_interval")


class _Server:
    """A description of a server: its type and its options."""

    _type, _names = None, _SERVER

    def __init__(self, **options):
        for name in options:
            if name not in self._names:
                raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument {name!r}")
        if options.get("context") is not None:
            raise TypeError("context: an SSL context cannot leave the sandbox. Use certfile, pkeyfile and cafile in --admission-server.")
        self.__dict__.update(dict.fromkeys(self._names), **options)

    async def __call__(self, fn):
        """Say to a server of the script, which calls this one, what it would have to tell the API server."""
        if isinstance(fn, _Asking):
            fn.server = self
        yield dict(_CONFIG)

    def _describe(self):
        return described(self) if type(self).__module__ != __name__ else self._described()

    def _described(self):
        options = {name: _plain(getattr(self, name)) for name in self._names if getattr(self, name) is not None}
        return {"type": self._type, **options}


_CONFIG = {"url": "https://localhost", "caBundle": ""}  # of a server of the host, which knows both


class _Asking:
    """The function that a server of the script gives to a server of this module."""

    server = None


def described(server):
    """Describe a server of the script, if all it does is to turn the URL of a server of this module into a service, as in the manual of the reference."""
    asking, config, cause = _Asking(), None, None
    try:
        server(asking).__anext__().send(None)
    except StopIteration as found:
        config = found.value
    except Exception as error:
        cause = error
    if asking.server is not None and isinstance(config, dict):
        found, service = asking.server._described(), {key: value for key, value in (config.get("service") or {}).items() if value is not None}
        if service and not config.get("url") and service.pop("path", found.get("path")) == found.get("path") and config.get("caBundle") == _CONFIG["caBundle"]:
            return {**found, "service": service}
    raise TypeError(f"{type(server).__name__} is a server of its own, and cannot run in the sandbox: use kopf.WebhookServer or another class of kopf, "
                    "let it yield a service for one of these, or use the option --admission-server of `kopf run`.") from cause


def _plain(value):
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, frozenset, tuple)):
        return sorted(value)
    return value.name.removeprefix("CERT_").lower() if isinstance(value, ssl.VerifyMode) else value


class WebhookServer(_Server):
    """An HTTPS server of the host."""

    _type = "server"
    DEFAULT_HOST: str | None = None


class WebhookK3dServer(WebhookServer):
    """A server for clusters of k3d and k3s."""

    _type = "k3d"
    DEFAULT_HOST = "host.k3d.internal"


class WebhookMinikubeServer(WebhookServer):
    """A server for clusters of minikube."""

    _type = "minikube"
    DEFAULT_HOST = "host.minikube.internal"


class WebhookDockerDesktopServer(WebhookServer):
    """A server for clusters of Docker Desktop."""

    _type = "docker-desktop"
    DEFAULT_HOST = "host.docker.internal"


class WebhookAutoServer(WebhookServer):
    """A server with the name for the cluster that the host detects."""

    _type = "auto-server"


class WebhookNgrokTunnel(_Server):
    """A tunnel by ngrok."""

    _type, _names = "ngrok", ("addr", "port", "path", "token", "region", "binary")


class WebhookAutoTunnel(_Server):
    """A server or a tunnel, as the cluster needs it."""

    _type, _names = "auto-tunnel", ("addr", "port", "path")
