"""The files that scripts can read.

The host gives files by their paths: `script/` has the modules of the author, which Python finds next to the
script, `packages/` what `kopf run --packages` has packed. A few more are for client libraries, which read them
before they make a request. They say that the operator runs in a cluster. The credentials are those of the host,
which makes the requests: the token here is a placeholder, and is never sent.
"""

import errno
import io
import os
import posixpath
import stat

from kopf import _host

SCRIPT, PACKAGES = "script", "packages"  # folders of the host
ROOT = "/" + PACKAGES  # in sys.path, in place of site-packages

_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount/"
SERVER = "kubernetes.default.svc"
TOKEN = "of-the-host"
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
_NO_CERTIFICATE = "# The host verifies certificates.\n"
_KUBECONFIG = f"""apiVersion: v1
kind: Config
current-context: operator
clusters: [{{name: operator, cluster: {{server: "https://{SERVER}"}}}}]
users: [{{name: operator, user: {{token: {TOKEN}}}}}]
contexts: [{{name: operator, context: {{cluster: operator, user: operator, namespace: default}}}}]
"""

_GIVEN = {
    _ACCOUNT + "token": TOKEN,
    _ACCOUNT + "namespace": "default",
    _ACCOUNT + "ca.crt": _NO_CERTIFICATE,
    AUTHORITIES: _NO_CERTIFICATE,
    "/.kube/config": _KUBECONFIG,
}
_ACCOUNTS = (_ACCOUNT[:-1], _ACCOUNT[len("/var"):-1])  # /var/run is a link to /run in most containers
_ENVIRONMENT = {"KUBERNETES_SERVICE_HOST": SERVER, "KUBERNETES_SERVICE_PORT": "443", "KUBERNETES_PORT": f"tcp://{SERVER}:443", "HOME": "/"}

_files = frozenset()  # of the host
_folders = {}  # the names in each folder


def load():
    """Ask the host for its files. Return whether there are any."""
    global _files
    found = _host.file("")
    if not found:
        return False
    _files = frozenset(found.decode().splitlines())
    for path in sorted(_files):
        while path:
            folder, _, name = path.rpartition("/")
            names = _folders.setdefault(folder, {})
            if name in names:
                break
            names[name], path = True, folder
    return True


def unload():
    """Forget the files of the host: for tests."""
    global _files
    _files = frozenset()
    _folders.clear()


def key(path):
    """Return the path of the host for a path of Python: /packages, or the folder of the script, which is the current one."""
    path = posixpath.normpath("/" + path.lstrip("/"))
    if path == ROOT or path.startswith(ROOT + "/"):
        return path[1:]
    return (SCRIPT + path).rstrip("/")


def _given(path):
    """Return the text of a file that is for client libraries; None if there is none."""
    return _GIVEN.get("/var" + path if path.startswith("/run/") else path)


def read(path):
    """Return the content of a file by its path in Python; None if there is none."""
    given = _given(path)
    if given is not None:
        return given.encode()
    name = key(path) if _files else ""
    return _host.file(name) if name in _files else None


def names_in(path):
    """Return the sorted names in a folder; none if there is no such folder."""
    return sorted(_folders.get(key(path), ()))


def is_file(path):
    """Tell whether a file has this path in Python."""
    return _given(path) is not None or key(path) in _files


def is_folder(path):
    """Tell whether a folder of the host has this path in Python."""
    return key(path) in _folders


def is_own(filename):
    """Tell whether code is of a module of the author."""
    return key(filename) in _files and not filename.startswith(ROOT)


def opened(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, **_):
    """Return the open file, as open() does; None if there is none of that path, or to write it."""
    path = _path(file)
    data = read(path) if path is not None and not set(mode) & set("wax+") else None
    if data is None:
        return None
    if "b" in mode:
        return io.BytesIO(data)
    return io.TextIOWrapper(io.BytesIO(data), encoding or "utf-8", errors, newline)


def _path(file):
    """Return the path of a file as text; None for a file descriptor."""
    try:
        return os.fsdecode(file)
    except TypeError:
        return None


def _stat(real):
    def stat_of(path, *args, **kwargs):
        name = _path(path)
        if name is not None and is_file(name):
            return os.stat_result((stat.S_IFREG | 0o444, 0, 0, 1, 0, 0, len(read(name)), 0, 0, 0))
        if name is not None and (name.rstrip("/") in _ACCOUNTS or _files and is_folder(name)):
            return os.stat_result((stat.S_IFDIR | 0o555, 0, 0, 1, 0, 0, 0, 0, 0, 0))
        try:
            return real(path, *args, **kwargs)
        except PermissionError as error:  # as WASI says it: nothing outside is there
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", error.filename) from None

    return stat_of


def _listdir(real):
    def names_of(path="."):
        name = _path(path)
        return names_in(name) if name is not None and _files and is_folder(name) else real(path)

    return names_of


def install():
    """Let the paths of the files exist. `open` finds them by `opened`."""
    os.stat = _stat(os.stat)
    os.lstat = _stat(os.lstat)
    os.listdir = _listdir(os.listdir)
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
