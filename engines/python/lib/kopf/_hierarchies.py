"""Children of objects: owner references, names, namespaces, labels.

Objects are dicts, objects of pykube (by `.obj`), or models of the official client (by `metadata`
with attributes). They are given alone or in lists, and are changed in place.
"""

import collections.abc
import enum

from kopf import _context
from kopf._bodies import build_owner_reference
from kopf._views import not_mapping, parse_field


class _UNSET(enum.Enum):
    token = enum.auto()


def append_owner_reference(objs, owner=None, *, controller=True, block_owner_deletion=True):
    """Add the reference to the owner, unless the object has it."""
    reference = build_owner_reference(_owner(owner), controller=controller, block_owner_deletion=block_owner_deletion)
    for obj in walk(objs):
        meta = _meta(obj)
        if all(_of(ref, "uid") != reference.get("uid") for ref in meta.owners()):
            meta.own(reference)


def remove_owner_reference(objs, owner=None):
    """Remove the reference to the owner."""
    uid = build_owner_reference(_owner(owner)).get("uid")
    for obj in walk(objs):
        owners = _meta(obj).owners()
        owners[:] = [ref for ref in owners if _of(ref, "uid") != uid]


def label(objs, labels=_UNSET.token, *, forced=False, nested=None, force=None):
    """Set labels, by default those of the handled object. Labels that are there stay, unless forced."""
    forced = forced if force is None else force
    if isinstance(labels, _UNSET):
        labels = (_owner(None).get("metadata") or {}).get("labels") or {}
    for obj in walk(objs, nested=[nested] if isinstance(nested, str) else nested):
        present = _meta(obj).labels()
        for key, value in labels.items():
            if forced or key not in present:
                present[key] = value


def harmonize_naming(objs, name=_UNSET.token, *, forced=False, strict=False):
    """Name objects: exactly so if strict, else with a suffix that the server adds."""
    if isinstance(name, _UNSET):
        name = (_owner(None).get("metadata") or {}).get("name")
    if name is None:
        raise LookupError("Name must be set explicitly: couldn't find it automatically.")
    for obj in walk(objs):
        meta = _meta(obj)
        if forced or not meta.is_named():
            meta.rename(name if strict else None, None if strict else f"{name}-")


def adjust_namespace(objs, namespace=_UNSET.token, *, forced=False):
    """Put objects into a namespace, by default that of the handled object."""
    if isinstance(namespace, _UNSET):
        namespace = (_owner(None).get("metadata") or {}).get("namespace")
    for obj in walk(objs):
        _meta(obj).move(namespace, forced)


def adopt(objs, owner=None, *, forced=False, strict=False, nested=None):
    """Make objects children: owned, named, placed and labelled as the owner is."""
    real = _owner(owner)
    meta = real.get("metadata") or {}
    append_owner_reference(objs, owner=real)
    harmonize_naming(objs, forced=forced, strict=strict, name=meta.get("name"))
    adjust_namespace(objs, forced=forced, namespace=meta.get("namespace"))
    label(objs, forced=forced, nested=nested, labels=meta.get("labels") or {})


def walk(objs, *, nested=None):
    """Return the objects of nested lists, and the parts of them at the paths in `nested`."""
    if objs is None:
        return
    if _is_pykube(objs):
        objs = objs.obj
    if isinstance(objs, collections.abc.Mapping) or _is_model(objs):
        yield objs
        for path in nested or ():
            part = _part(objs, parse_field(path))
            if part is not None:
                yield part
    elif isinstance(objs, collections.abc.Iterable) and not isinstance(objs, (str, bytes)):
        for obj in objs:
            yield from walk(obj, nested=nested)
    else:
        raise TypeError(f"K8s object class is not supported: {type(objs)}")


def plain(obj):
    """Return a model of the official client as far as events name it."""
    meta = obj.metadata
    names = {key: getattr(meta, key, None) for key in ("name", "namespace", "uid")} if meta else {}
    return {"apiVersion": obj.api_version, "kind": obj.kind, "metadata": names}


def _is_pykube(obj):
    return type(obj).__module__.split(".")[0] == "pykube" and hasattr(obj, "obj") or \
        any(base.__module__.startswith("pykube.") for base in type(obj).__mro__) and hasattr(obj, "obj")


def _is_model(obj):
    return hasattr(obj, "attribute_map") and hasattr(obj, "openapi_types")


def _part(obj, path):
    for key in path:
        if isinstance(obj, collections.abc.Mapping):
            obj = obj.get(key)
        elif _is_model(obj):
            names = [name for name, other in obj.attribute_map.items() if other == key]
            obj = getattr(obj, names[0] if names else key, None)
        elif obj is None:
            return None
        else:
            raise not_mapping(obj, key)
    return obj


def _of(reference, name):
    return reference.get(name) if isinstance(reference, collections.abc.Mapping) else getattr(reference, name, None)


def _owner(owner):
    if owner is not None:
        return owner
    try:
        task = _context.here("Owner")
    except LookupError:
        raise LookupError("Owner must be set explicitly, since running outside of a handler.") from None
    if not task.header.get("resource"):
        raise LookupError("Owner must be set explicitly: the handler is not about an object.")
    return task.arguments["body"]


def _meta(obj):
    if isinstance(obj, collections.abc.MutableMapping):
        return _DictMeta(obj)
    if _is_model(obj):
        return _ModelMeta(obj)
    raise TypeError(f"K8s object class is not supported: {type(obj)}")


def _within(mapping, key, empty):
    """Return a part of a dict. A part that is absent or null becomes an empty one."""
    if mapping.get(key) is None:
        mapping[key] = empty
    return mapping[key]


class _DictMeta:
    """The metadata of a dict."""

    def __init__(self, obj):
        self._obj = obj

    def _ensured(self):
        return _within(self._obj, "metadata", {})

    def owners(self):
        return _within(self._ensured(), "ownerReferences", [])

    def own(self, reference):
        self.owners().append(reference)

    def labels(self):
        return _within(self._ensured(), "labels", {})

    def is_named(self):
        return bool(set(self._obj.get("metadata") or ()) & {"name", "generateName"})

    def rename(self, name, prefix):
        for key, value in (("name", name), ("generateName", prefix)):
            if value is not None:
                self._ensured()[key] = value
            else:
                self._ensured().pop(key, None)

    def move(self, namespace, forced):
        if forced or (self._obj.get("metadata") or {}).get("namespace") is None:
            self._ensured()["namespace"] = namespace


class _ModelMeta:
    """The metadata of a model of the official client."""

    def __init__(self, obj):
        if obj.metadata is None:
            obj.metadata = _client(obj).V1ObjectMeta()
        self._meta, self._models = obj.metadata, _client(obj)

    def owners(self):
        if self._meta.owner_references is None:
            self._meta.owner_references = []
        return self._meta.owner_references

    def own(self, reference):
        names = {"apiVersion": "api_version", "blockOwnerDeletion": "block_owner_deletion"}
        fields = {names.get(key, key): value for key, value in reference.items()}
        self.owners().append(self._models.V1OwnerReference(**fields))

    def labels(self):
        if self._meta.labels is None:
            self._meta.labels = {}
        return self._meta.labels

    def is_named(self):
        return self._meta.name is not None or self._meta.generate_name is not None

    def rename(self, name, prefix):
        self._meta.name, self._meta.generate_name = name, prefix

    def move(self, namespace, forced):
        if forced or self._meta.namespace is None:
            self._meta.namespace = namespace


def _client(obj):
    """Return the module of models that an object is from."""
    import importlib
    return importlib.import_module(type(obj).__module__.split(".")[0] + ".client")
