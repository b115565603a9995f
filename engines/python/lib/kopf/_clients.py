"""Client libraries in the sandbox: what they connect by is replaced, they are not.

`_sockets` serves libraries that block, `_streams` and `_httpcore` those that await, and `_files` has the
files in which libraries look for the cluster.
"""

import importlib
import importlib.util
import sys

from kopf import _files, _sockets

_REPLACED = {"httpcore._backends.auto": "kopf._httpcore"}


class _Finder:
    """Finds the modules of packages that are replaced, or configured when they are imported."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in _REPLACED:
            return importlib.util.spec_from_loader(name, _Loader)
        if name not in _CONFIGURED:
            return None
        for finder in sys.meta_path:
            spec = None if finder is _Finder else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                _configure_by(spec.loader, _CONFIGURED[name])
                return spec
        return None


def _configure_by(loader, configure):
    """Let a loader call a function with its module."""
    execute = loader.exec_module

    def exec_module(module):
        execute(module)
        configure(module)

    loader.exec_module = exec_module


def _configure_kubernetes(module):
    """Let a client ask the cluster, as after a login by it: operators rely on that."""
    configuration = module.Configuration()
    configuration.host, configuration.ssl_ca_cert = f"https://{_files.SERVER}", _files.AUTHORITIES
    module.Configuration.set_default(configuration)


def _configure_discovery(module):
    """Let a client name the file in which it would keep what it has found: it continues without the file."""
    importlib.import_module("tempfile").tempdir = "/tmp"


_CONFIGURED = {
    **{f"{client}.configuration": _configure_kubernetes for client in ("kubernetes.client", "kubernetes.aio.client", "kubernetes_asyncio.client")},
    **{f"{client}.dynamic.discovery": _configure_discovery for client in ("kubernetes", "kubernetes.aio", "kubernetes_asyncio", "openshift")},
}


class _Loader:
    """Fills a module with the names of the one that replaces it."""

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        source = importlib.import_module(_REPLACED[module.__name__])
        module.__dict__.update({name: value for name, value in vars(source).items() if not name.startswith("__")})


def install():
    """Let libraries make requests by the host. In the sandbox only: elsewhere there are sockets."""
    if sys.platform == "wasi":
        _sockets.install()
        sys.meta_path.insert(0, _Finder)
