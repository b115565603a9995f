"""The few files that client libraries read before they make a request.

They say that the operator runs in a cluster. The credentials are those of the host, which
makes the requests: the token here is a placeholder, and is never sent.
"""

import io
import os
import stat

_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount/"
_SERVER = "kubernetes.default.svc"
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
_NO_CERTIFICATE = "# The host verifies certificates.\n"
_KUBECONFIG = f"""apiVersion: v1
kind: Config
current-context: operator
clusters: [{{name: operator, cluster: {{server: "https://{_SERVER}"}}}}]
users: [{{name: operator, user: {{token: of-the-host}}}}]
contexts: [{{name: operator, context: {{cluster: operator, user: operator, namespace: default}}}}]
"""

_FILES = {
    _ACCOUNT + "token": "of-the-host",
    _ACCOUNT + "namespace": "default",
    _ACCOUNT + "ca.crt": _NO_CERTIFICATE,
    AUTHORITIES: _NO_CERTIFICATE,
    "/.kube/config": _KUBECONFIG,
}
_ENVIRONMENT = {"KUBERNETES_SERVICE_HOST": _SERVER, "KUBERNETES_SERVICE_PORT": "443", "HOME": "/"}


def content(path):
    """Return the text of a file; None if there is none of that name."""
    try:
        return _FILES.get(os.fspath(path))
    except TypeError:  # a file descriptor
        return None


def opened(path, mode="r"):
    """Return the open file; None if there is none of that name, or to write it."""
    text = None if set(mode) & set("wax+") else content(path)
    if text is None:
        return None
    return io.BytesIO(text.encode()) if "b" in mode else io.StringIO(text)


def _stat(real):
    def stat_of(path, *args, **kwargs):
        text = content(path)
        if text is None:
            return real(path, *args, **kwargs)
        return os.stat_result((stat.S_IFREG | 0o444, 0, 0, 1, 0, 0, len(text), 0, 0, 0))

    return stat_of


def install():
    """Let the names of the files exist. `open` finds them by `opened`."""
    os.stat = _stat(os.stat)
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
