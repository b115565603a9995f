"""The handled object: its body and parts, and references to it."""

import time
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from kopf import _codec, _host
from kopf._views import MappingView, ReadOnlyView

Labels = Mapping[str, str]
Annotations = Mapping[str, str]
RawEventType = Literal[None, "ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


class RawMeta(TypedDict, total=False):
    uid: str
    name: str
    namespace: str
    labels: dict[str, str]
    annotations: dict[str, str]
    finalizers: list[str]
    resourceVersion: str
    deletionTimestamp: str
    creationTimestamp: str
    selfLink: str


class RawBody(TypedDict, total=False):
    apiVersion: str
    kind: str
    metadata: RawMeta
    spec: dict[str, Any]
    status: dict[str, Any]


class RawEvent(TypedDict, total=True):
    type: RawEventType
    object: RawBody


class MetaEssence(TypedDict, total=False):
    labels: dict[str, str]
    annotations: dict[str, str]


class BodyEssence(TypedDict, total=False):
    metadata: MetaEssence
    spec: dict[str, Any]
    status: dict[str, Any]


class ObjectReference(TypedDict, total=False):
    apiVersion: str
    kind: str
    namespace: str | None
    name: str
    uid: str


class OwnerReference(TypedDict, total=False):
    controller: bool
    blockOwnerDeletion: bool
    apiVersion: str
    kind: str
    name: str
    uid: str


class Meta(ReadOnlyView):
    """The metadata of an object, with attributes for what all objects have."""

    def __init__(self, body):
        super().__init__(body, "metadata")
        self._labels, self._annotations = ReadOnlyView(self, "labels"), ReadOnlyView(self, "annotations")

    labels = property(lambda self: self._labels)
    annotations = property(lambda self: self._annotations)
    uid = property(lambda self: self.get("uid"))
    name = property(lambda self: self.get("name"))
    namespace = property(lambda self: self.get("namespace"))
    creation_timestamp = property(lambda self: self.get("creationTimestamp"))
    deletion_timestamp = property(lambda self: self.get("deletionTimestamp"))


class Spec(ReadOnlyView):
    """The spec of an object."""

    def __init__(self, body):
        super().__init__(body, "spec")


class Status(ReadOnlyView):
    """The status of an object."""

    def __init__(self, body):
        super().__init__(body, "status")


class Body(MappingView):
    """A whole object, with views of its parts."""

    def __init__(self, source):
        self._source = source
        self._meta, self._spec, self._status = Meta(self), Spec(self), Status(self)

    def _find(self):
        return self._source

    def __reduce__(self):
        """Copy and pickle what it is now: in another task, the number of a live body would be that of another object."""
        return Body, (self._find(),)

    def __setitem__(self, key, value):
        raise TypeError(f"body is read-only, because it is a copy of the object. Change the object by the patch: patch[{key!r}] = …")

    metadata = property(lambda self: self._meta)
    meta = property(lambda self: self._meta)
    spec = property(lambda self: self._spec)
    status = property(lambda self: self._status)


class LiveBody(Body):
    """The body for daemons and timers: always the newest that the host knows.

    The clock of a guest stands still except in waits. So the host can have a newer body only
    if the clock has moved since the last look.
    """

    def __init__(self, task, text):
        super().__init__(_codec.loads(text) if text else {})
        self._task, self._text, self._looked = task, text, None

    def _find(self):
        now = time.monotonic()
        if now != self._looked:
            self._looked = now
            text = _host.segment_bytes(self._task, _host.FRESH)
            if text and text != self._text:
                self._text, self._source = text, _codec.loads(text)
        return self._source


def build_object_reference(body):
    """Return the reference to an object, for events. Absent fields are left out."""
    meta = body.get("metadata") or {}
    found = {
        "apiVersion": body.get("apiVersion"), "kind": body.get("kind"),
        "name": meta.get("name"), "uid": meta.get("uid"), "namespace": meta.get("namespace"),
    }
    return {key: value for key, value in found.items() if value}


def build_owner_reference(body, *, controller=True, block_owner_deletion=True):
    """Return the reference of a child to its owner. Fields that are None are left out."""
    meta = body.get("metadata") or {}
    found = {
        "controller": controller, "blockOwnerDeletion": block_owner_deletion,
        "apiVersion": body.get("apiVersion"), "kind": body.get("kind"),
        "name": meta.get("name"), "uid": meta.get("uid"),
    }
    return {key: value for key, value in found.items() if value is not None}
