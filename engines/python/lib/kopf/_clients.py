"""Client libraries in the sandbox: what they connect by is replaced, they are not.

`_sockets` serves libraries that block, `_httpcore` those that await, and `_files` has the
files in which libraries look for the cluster.
"""

import importlib
import importlib.util
import sys

from kopf import _sockets

_REPLACED = {"httpcore._backends.auto": "kopf._httpcore"}


class _Finder:
    """Finds the modules of packages that are replaced."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name not in _REPLACED:
            return None
        return importlib.util.spec_from_loader(name, _Loader)


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
