"""Resources of the cluster, and selectors of them."""

import dataclasses
import urllib.parse

from kopf._filters import EVERYTHING, Marker

PARTS = ("group", "version", "kind", "plural", "singular", "shortcut", "category")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Resource:
    """A kind of objects as the API server knows it."""

    group: str
    version: str
    plural: str
    kind: str | None = None
    singular: str | None = None
    shortcuts: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()
    subresources: frozenset[str] = frozenset()
    namespaced: bool | None = None
    preferred: bool = True
    verbs: frozenset[str] = frozenset()

    def __hash__(self):
        return hash(tuple(self))

    def __eq__(self, other):
        return tuple(self) == tuple(other) if isinstance(other, Resource) else NotImplemented

    def __repr__(self):
        main, *rest = self.plural.split("/")
        return "/".join([f"{main}.{self.version}.{self.group}".strip("."), *rest])

    def __iter__(self):
        return iter((self.group, self.version, self.plural))

    def get_url(self, *, server=None, namespace=None, name=None, subresource=None, params=None):
        """Return the path or the URL of a listing, an object, or a subresource."""
        if subresource is not None and name is None:
            raise ValueError("Subresources can be used only with specific resources by their name.")
        if not self.namespaced and namespace is not None:
            raise ValueError("Specific namespaces are not supported for cluster-scoped resources.")
        if self.namespaced and namespace is None and name is not None:
            raise ValueError("Specific namespaces are required for specific namespaced resources.")
        root = "/api" if (self.group, self.version) == ("", "v1") else "/apis"
        within = ["namespaces", namespace] if namespace is not None else []
        path = "/".join(part for part in (root, self.group, self.version, *within, self.plural, name, subresource) if part)
        url = path + ("?" + urllib.parse.urlencode(params) if params else "")
        return url if server is None else server.rstrip("/") + "/" + url.lstrip("/")


_NAMES = frozenset(field.name for field in dataclasses.fields(Resource))
_SETS = ("shortcuts", "categories", "subresources", "verbs")


def resource_of(message):
    """Return the resource of a message of the host."""
    known = {key: value for key, value in message.items() if key in _NAMES}
    for key in _SETS:
        known[key] = frozenset(known.get(key) or ())
    known.setdefault("preferred", False)
    known.setdefault("namespaced", False)
    return Resource(known.pop("group", ""), known.pop("version", ""), known.pop("plural", ""), **known)


def selector(args, parts, kind):
    """Return the selector of a decorator as the host gets it, and its function if it is one."""
    args = tuple(arg for arg in args if arg is not None)
    given = {name: _part(kind, value) for name, value in parts.items() if value is not None}
    if len(args) == 1 and callable(args[0]):
        return {"function": True, **given}, args[0]
    if args:
        given["args"] = [_part(kind, arg) for arg in args]
    if not given:
        raise TypeError(f"{kind}: the resource is missing. Name it, as in @kopf.on.{kind}('kopfexamples').")
    return given, None


def _part(kind, value):
    if isinstance(value, Marker):
        return {"$": EVERYTHING.name}
    if isinstance(value, str):
        return value
    raise TypeError(f"{kind}: a part of a resource is a text or kopf.EVERYTHING, not {value!r}.")


class Selector:
    """A resource by its names, as keys of `settings.watching.label_selectors` have it."""

    def __init__(self, *args, **parts):
        self.declaration, function = selector(args, parts, "Selector")
        if function is not None:
            raise TypeError("Selectors in settings cannot be functions: name the resource.")

    @classmethod
    def _of(cls, resource):
        """Return the selector of a resource as the host gives it: a notation with slashes, or a declaration."""
        if isinstance(resource, str):
            return cls(*(EVERYTHING if part == "*" else part for part in resource.split("/")))
        args = (EVERYTHING if isinstance(arg, dict) else arg for arg in resource.get("args", ()))
        return cls(*args, **{name: part for name, part in resource.items() if name != "args"})

    def _key(self):
        return repr(sorted(self.declaration.items()))

    def __eq__(self, other):
        return self._key() == other._key() if isinstance(other, Selector) else NotImplemented

    def __hash__(self):
        return hash(self._key())

    def __repr__(self):
        return f"Selector({self.declaration!r})"
