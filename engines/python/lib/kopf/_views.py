"""Read-only and writable views of parts of mappings, which may be absent."""

import collections.abc
import enum


def parse_field(field):
    """Return the path of a field: of `None`, "a.b", or a list or tuple of keys."""
    if field is None:
        return ()
    if isinstance(field, str):
        return tuple(field.split("."))
    if isinstance(field, (list, tuple)):
        return tuple(field)
    raise ValueError(f"Field must be either a str, or a list/tuple. Got {field!r}")


class _UNSET(enum.Enum):
    token = enum.auto()


def resolve(source, field, default=_UNSET.token):
    """Return the value of a field of nested mappings; the default where there is none.

    Without a default, KeyError: the field is absent; TypeError: it is in a value that is no mapping.
    """
    for key in parse_field(field):
        if not isinstance(source, collections.abc.Mapping):
            if default is _UNSET.token:
                raise not_mapping(source, key)
            return default
        if key not in source:
            if default is _UNSET.token:
                raise KeyError(key)
            return default
        source = source[key]
    return source


def not_mapping(value, key):
    """Return the error for a field of a value that has no fields."""
    return TypeError(f"The structure is not a dict with field {key!r}: {value!r}")


class MappingView(collections.abc.Mapping):
    """A part of a mapping by its key. It is empty while the part is absent or no mapping."""

    def __init__(self, parent, key):
        self._parent, self._key = parent, key

    def _find(self):
        parent = self._parent
        within = parent._find() if isinstance(parent, MappingView) else parent
        found = within.get(self._key)
        return found if isinstance(found, collections.abc.Mapping) else {}

    def __getitem__(self, key):
        return self._find()[key]

    def __iter__(self):
        return iter(self._find())

    def __len__(self):
        return len(self._find())

    def __contains__(self, key):
        return key in self._find()

    def get(self, key, default=None):
        return self._find().get(key, default)

    def __repr__(self):
        return repr(dict(self))


class ReadOnlyView(MappingView):
    """A part of the handled object. Assignments say how the object is changed."""

    def __setitem__(self, key, value):
        raise TypeError(self._refusal(f"[{key!r}] = {value!r}"[:200]))

    def __delitem__(self, key):
        raise TypeError(self._refusal(f"[{key!r}] = None"))

    def _refusal(self, assignment):
        name = {"metadata": "meta"}.get(self._key, self._key)
        place = f"meta.{name}" if name in ("labels", "annotations") else name
        return f"{name} is read-only, because it is a copy of the object. Change the object by the patch: patch.{place}{assignment}"


class MutableMappingView(MappingView, collections.abc.MutableMapping):
    """A part of a mapping that is created by the first assignment."""

    def _ensure(self):
        parent = self._parent
        within = parent._ensure() if isinstance(parent, MutableMappingView) else parent
        if not isinstance(within.get(self._key), collections.abc.MutableMapping):
            within[self._key] = {}
        return within[self._key]

    def __setitem__(self, key, value):
        self._ensure()[key] = value

    def __delitem__(self, key):
        del self._find()[key]
