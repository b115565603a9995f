"""Credentials that login handlers return."""

import dataclasses
import datetime
from typing import Any

from kopf import _context, _errors, _files

AiohttpSession = Any  # the reference's type of custom sessions; there are none here

_FILES = ("ca_path", "certificate_path", "private_key_path")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConnectionInfo:
    """How to reach and log in to the API server. Files cannot be named: the sandbox has none."""

    server: str = ""  # that of the host by default
    ca_path: str | None = None
    ca_data: str | bytes | None = None
    insecure: bool | None = None
    username: str | None = None
    password: str | None = None
    scheme: str | None = None
    token: str | None = None
    certificate_path: str | None = None
    certificate_data: str | bytes | None = None
    private_key_path: str | None = None
    private_key_data: str | bytes | None = None
    default_namespace: str | None = None
    proxy_url: str | None = None
    trust_env: bool = False
    priority: int = 0
    expiration: datetime.datetime | None = None
    login: str | None = None  # one of the credentials of the host: kubeconfig, service_account

    def __post_init__(self):
        for path, data in (("ca_path", "ca_data"), ("certificate_path", "certificate_data"), ("private_key_path", "private_key_data")):
            if getattr(self, path) and getattr(self, data):
                raise ValueError(f"Both {path} & {data} are set. Need only one.")

    def _describe(self):
        """Return the fields for the host. The placeholder of a token, from the files of the service account, stands for the credentials of the host."""
        of_host = [name for name in ("service_account", "kubeconfig", *_logins()) if name in _logins()] if self.token == _files.TOKEN else ()
        if of_host:
            return ConnectionInfo(login=of_host[0], priority=self.priority, expiration=self.expiration)._describe()
        for name in _FILES:
            if getattr(self, name):
                raise _errors.PermanentError(f"ConnectionInfo.{name}: the sandbox has no files. Use {name.replace('_path', '_data')}, "
                                             "or the credentials of the host by kopf.login_with_service_account(**kwargs).")
        found = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                found[field.name] = _plain(value)
        return found


def _plain(value):
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return value.isoformat()
    return value


def _logins():
    """Return the names of the credentials of the host."""
    return _context.here("a login").header.get("logins") or ()


def _of_host(name, priority):
    """Return the credentials of the host of a name; None if it has none."""
    return ConnectionInfo(login=name, priority=priority) if name in _logins() else None


def login_with_service_account(**_):
    """Return the service account of the host's pod; None if there is none."""
    return _of_host("service_account", 20)


def login_with_kubeconfig(**_):
    """Return the current context of the host's kubeconfig; None if there is none."""
    return _of_host("kubeconfig", 10)


def login_via_client(**kwargs):
    """Return the credentials of the host, as the client libraries find them."""
    return login_with_service_account(**kwargs) or login_with_kubeconfig(**kwargs)


async def login_via_async_client(**kwargs):
    """Return the credentials of the host, as the client libraries find them."""
    return login_via_client(**kwargs)


login_via_pykube = login_via_client
