"""Indices: values of all objects of a resource, which the host keeps."""

import collections.abc

from kopf import _codec, _host, _pickles


class Store(collections.abc.Collection):
    """The values under one key of an index."""

    def __init__(self, values=(), task=0):
        self._values = [_pickles.unpack(task, value) for value in values]

    def __len__(self):
        return len(self._values)

    def __iter__(self):
        return iter(self._values)

    def __contains__(self, value):
        return value in self._values

    def __repr__(self):
        return repr(self._values)


class Index(collections.abc.Mapping):
    """One index of the operator in its current state: stores by keys."""

    def __init__(self, task, name):
        self._task, self._name = task, name

    def __getitem__(self, key):
        values = _host.index(self._task, _host.VALUES, self._name, _codec.dumps(_packed(self._task, key, self._name)))
        if not values:
            raise KeyError(key)
        return Store(values, self._task)

    def __contains__(self, key):
        return bool(_host.index(self._task, _host.HAS, self._name, _codec.dumps(_packed(self._task, key, self._name))))

    def __iter__(self):
        keys = _host.index(self._task, _host.KEYS, self._name) or ()
        return iter([_codec.hashable(_pickles.unpack(self._task, key)) for key in keys])

    def __len__(self):
        return _host.index(self._task, _host.LENGTH, self._name) or 0

    def items(self):
        """Return the keys with their stores. A key can be gone again: the host indexes other objects meanwhile."""
        return [(key, store) for key in self if (store := self.get(key)) is not None]

    def values(self):
        return [store for _, store in self.items()]

    def __repr__(self):
        return repr(dict(self.items()))


def result(task, value, name):
    """Return the fields of a step for the result of an index function."""
    if value is None:
        return {}
    pairs = value.items() if isinstance(value, collections.abc.Mapping) else [(None, value)]
    return {"keyed": True, "result": [[_packed(task, key, name), _pickles.pack(task, item, f"the index {name}")] for key, item in pairs]}


def _packed(task, key, name):
    """Return a key as JSON has it: tuples are lists, and what JSON cannot hold is pickled."""
    try:
        _codec.dumps(key)
        return key
    except (TypeError, ValueError):
        return _pickles.pack(task, key, f"a key of the index {name}")
