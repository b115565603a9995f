"""Differences between two states of an object or of a field."""

import collections.abc
import enum
from typing import Any, NamedTuple


class DiffOperation(enum.StrEnum):
    """What has happened to a field."""

    ADD = "add"
    CHANGE = "change"
    REMOVE = "remove"

    def __repr__(self):
        return repr(self.value)


class DiffItem(NamedTuple):
    """One difference: the operation, the path of the field, the old and the new value."""

    operation: DiffOperation
    field: tuple
    old: Any
    new: Any

    op = property(lambda self: self.operation)

    def __repr__(self):
        return repr(tuple(self))

    def __eq__(self, other):
        return tuple(self) == tuple(other) if isinstance(other, collections.abc.Sequence) else NotImplemented

    def __ne__(self, other):
        return tuple(self) != tuple(other) if isinstance(other, collections.abc.Sequence) else NotImplemented


class Diff(collections.abc.Sequence):
    """An unchangeable sequence of differences."""

    def __init__(self, items=()):
        self._items = tuple(DiffItem(DiffOperation(op), tuple(path), old, new) for op, path, old, new in items)

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def __getitem__(self, position):
        return self._items[position]

    def __repr__(self):
        return repr(self._items)

    def __eq__(self, other):
        return tuple(self) == tuple(other) if isinstance(other, collections.abc.Sequence) else NotImplemented

    def __hash__(self):
        return hash(repr(self._items))


def _items(old, new, path):
    if old == new:
        return
    if old is None:
        yield "add", path, old, new
    elif new is None:
        yield "remove", path, old, new
    elif isinstance(old, collections.abc.Mapping) and isinstance(new, collections.abc.Mapping):
        for key in sorted(old.keys() | new.keys(), key=repr):
            yield from _items(old.get(key), new.get(key), (*path, key))
    else:
        yield "change", path, old, new


def diff(old, new, path=()):
    """Return the differences between two values. Lists are compared as a whole."""
    return Diff(_items(old, new, tuple(path)))
