"""Storages of the progress and of the last handled state.

The host stores both. These classes describe how, and are assigned to the settings
`persistence.progress_storage` and `persistence.diffbase_storage` in startup handlers.
"""

import itertools
from typing import TypedDict


class ProgressRecord(TypedDict, total=True):
    """The stored state of one handler."""

    started: str | None
    stopped: str | None
    delayed: str | None
    purpose: str | None
    retries: int | None
    success: bool | None
    failure: bool | None
    message: str | None
    subrefs: list[str] | None


def _field(field):
    """Return a field for the host: a text with dots, or a list of its keys, which can have dots themselves."""
    return field if isinstance(field, str) else list(field)


def _is_own(kind):
    """Tell whether a class of the script does more than to choose the options of its storage."""
    own = itertools.takewhile(lambda base: base.__module__ != __name__, kind.__mro__)
    return any(name != "__init__" and hasattr(value, "__get__") for base in own for name, value in vars(base).items())


class _Storage:
    """A description of a storage: its type and its options."""

    _type = None

    def __init__(self, **options):
        self._options = options

    def _describe(self):
        """Return the description for the host. TypeError: a storage of the script."""
        if self._type is None or _is_own(type(self)):
            raise TypeError(
                f"{type(self).__name__} is a storage of its own, and cannot be used: the host stores the state. Use one of "
                "kopf.AnnotationsProgressStorage, StatusProgressStorage, SmartProgressStorage, MultiProgressStorage, "
                "AnnotationsDiffBaseStorage, StatusDiffBaseStorage, MultiDiffBaseStorage, with their options.")
        return self._described()

    def _described(self):
        return {"type": self._type, **{key: value for key, value in self._options.items() if value is not None}}


class ProgressStorage(_Storage):
    """The base of storages of the progress."""


class DiffBaseStorage(_Storage):
    """The base of storages of the last handled state."""

    def __init__(self, *, ignored_fields=None, **options):
        fields = None if ignored_fields is None else [_field(field) for field in ignored_fields]
        super().__init__(ignored_fields=fields, **options)


class AnnotationsProgressStorage(ProgressStorage):
    """Progress in annotations."""

    _type = "annotations"

    def __init__(self, *, prefix="kopf.zalando.org", verbose=False, touch_key="touch-dummy", v1=True):
        super().__init__(prefix=prefix, verbose=verbose, touch_key=touch_key, v1=v1)


class StatusProgressStorage(ProgressStorage):
    """Progress in the status."""

    _type = "status"

    def __init__(self, *, name="kopf", field="status.{name}.progress", touch_field="status.{name}.dummy"):
        super().__init__(name=name, field=_field(field), touch_field=_field(touch_field))


class SmartProgressStorage(ProgressStorage):
    """Progress in annotations; also read from the status."""

    _type = "smart"

    def __init__(self, *, name="kopf", field="status.{name}.progress", touch_key="touch-dummy",
                 touch_field="status.{name}.dummy", prefix="kopf.zalando.org", v1=True, verbose=False):
        super().__init__(name=name, field=_field(field), touch_key=touch_key, touch_field=_field(touch_field),
                         prefix=prefix, v1=v1, verbose=verbose)


class MultiProgressStorage(ProgressStorage):
    """Several storages: all are written, the first with a value is read."""

    _type = "multi"

    def __init__(self, storages):
        super().__init__()
        self.storages = list(storages)

    def _described(self):
        return [storage._describe() for storage in self.storages]


class AnnotationsDiffBaseStorage(DiffBaseStorage):
    """The last handled state in an annotation."""

    _type = "annotations"

    def __init__(self, *, prefix="kopf.zalando.org", key="last-handled-configuration", v1=True, ignored_fields=None):
        super().__init__(prefix=prefix, key=key, v1=v1, ignored_fields=ignored_fields)


class StatusDiffBaseStorage(DiffBaseStorage):
    """The last handled state in the status."""

    _type = "status"

    def __init__(self, *, name="kopf", field="status.{name}.last-handled-configuration", ignored_fields=None):
        super().__init__(name=name, field=_field(field), ignored_fields=ignored_fields)


class MultiDiffBaseStorage(DiffBaseStorage):
    """Several storages: all are written, the first with a value is read."""

    _type = "multi"

    def __init__(self, storages):
        super().__init__()
        self.storages = list(storages)

    def _described(self):
        return [storage._describe() for storage in self.storages]


class Stored:
    """A storage that the host is configured with, as startup handlers read it."""

    def __init__(self, description):
        self._description = description

    def _describe(self):
        return self._description

    def __repr__(self):
        return f"<storage {self._description!r}>"
