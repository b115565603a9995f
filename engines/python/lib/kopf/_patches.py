"""Changes of the handled object: a merge patch, and functions that edit the object."""

import copy
from collections.abc import Callable

from kopf._bodies import RawBody
from kopf._views import MutableMappingView

PatchFn = Callable[[RawBody], None]


class MetaPatch(MutableMappingView):
    """The part of a patch for the metadata."""

    def __init__(self, patch):
        super().__init__(patch, "metadata")
        self._labels, self._annotations = MutableMappingView(self, "labels"), MutableMappingView(self, "annotations")

    labels = property(lambda self: self._labels)
    annotations = property(lambda self: self._annotations)


class Patch(dict):
    """A merge patch (RFC 7386) with shortcuts, and functions in `fns`.

    The functions get the raw body, and change it in place. The host calls them again with a
    newer body if another client has changed the object meanwhile.
    """

    def __init__(self, src=None, /, body=None, fns=()):
        super().__init__(src or {})
        self._meta, self._spec, self._status = MetaPatch(self), MutableMappingView(self, "spec"), MutableMappingView(self, "status")
        self._body = body
        self._fns = (list(src.fns) if isinstance(src, Patch) else []) + list(fns)

    fns = property(lambda self: self._fns)
    metadata = property(lambda self: self._meta)
    meta = property(lambda self: self._meta)
    spec = property(lambda self: self._spec)
    status = property(lambda self: self._status)

    def __bool__(self):
        return len(self) > 0 or bool(self._fns)

    def clear(self):
        super().clear()
        self._fns.clear()

    def __repr__(self):
        parts = [super().__repr__()] if len(self) else []
        parts += [f"fns={self._fns!r}"] if self._fns else []
        return f"{type(self).__name__}({', '.join(parts)})"

    def as_json_patch(self, body=None):
        """Return the operations (RFC 6902) that this patch means for a body."""
        base = self._body if body is None else body
        if not self:
            return []
        if base is None:
            raise ValueError("Cannot build a JSON-patch without the original body as a reference.")
        before = copy.deepcopy(dict(base))
        after = copy.deepcopy(before)
        _merge(after, self)
        for fn in self._fns:
            fn(after)
        return list(_operations(before, after, ""))


def merged(first, second):
    """Return a merge patch that means one patch, and then another one."""
    whole = dict(first)
    for key, value in second.items():
        known = whole.get(key)
        whole[key] = merged(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return whole


def changes(patch, before):
    """Return the part of a patch that an earlier state of it does not have."""
    late = {}
    for key, value in patch.items():
        known = before.get(key)
        if isinstance(known, dict) and isinstance(value, dict):
            if inner := changes(value, known):
                late[key] = inner
        elif key not in before or known != value:
            late[key] = value
    return late


def _merge(target, patch):
    """Apply a merge patch to a dict, in place. Return whether it removes a field.

    As in the reference, and other than in RFC 7386: objects that become empty by a removal are removed, empty
    objects are not added, and values that are no objects get no fields.
    """
    removes = False
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
            removes = True
        elif isinstance(value, dict):
            removes |= _merge_within(target, key, value)
        else:
            target[key] = value
    return removes


def _merge_within(target, key, patch):
    child = target.get(key, {})
    if not isinstance(child, dict):
        _refuse(child, patch)
        return False
    removes = _merge(child, patch)
    if child:
        target[key] = child
    elif removes:
        target.pop(key, None)
    return removes


def _refuse(value, patch):
    """Raise the error of Python for the first field of a patch for a value that is no object."""
    for part in patch.values():
        if not isinstance(part, dict):
            action = "deletion" if part is None else "assignment"
            raise TypeError(f"{type(value).__name__!r} object does not support item {action}")
        _refuse(value, part)


def _operations(before, after, path):
    for key in before.keys() - after.keys():
        yield {"op": "remove", "path": f"{path}/{_escaped(key)}"}
    for key, value in after.items():
        at = f"{path}/{_escaped(key)}"
        if key not in before:
            yield {"op": "add", "path": at, "value": value}
        elif isinstance(value, dict) and isinstance(before[key], dict):
            yield from _operations(before[key], value, at)
        elif value != before[key]:
            yield {"op": "replace", "path": at, "value": value}


def _escaped(key):
    return str(key).replace("~", "~0").replace("/", "~1")
