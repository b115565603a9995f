"""JSON of messages."""

import collections.abc
import itertools
import json

_MAX_BACKOFFS = 1000


def _plain(value):
    """Return what json can write, for the types that it does not know."""
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, collections.abc.Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no type of JSON")


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain, separators=(",", ":"))
_decoder = json.JSONDecoder()


def loads(text):
    """Return the value of a JSON text in UTF-8."""
    return _decoder.decode(str(text, "utf-8", "replace"))


def dumps(value):
    """Return the JSON text of a value, in UTF-8. TypeError and ValueError: JSON cannot hold it."""
    return _encoder.encode(value).encode("utf-8", "replace")


def copied(value):
    """Return a value with the types of JSON only."""
    return loads(dumps(value))


def backoffs(value):
    """Return the pauses of an iterable as a list. The reference's documentation has endless ones: the first pauses stand for them."""
    return list(itertools.islice(value, _MAX_BACKOFFS))


def hashable(value):
    """Return a key of an index as Python can hash it: lists are tuples."""
    if isinstance(value, list):
        return tuple(map(hashable, value))
    if isinstance(value, dict):
        return tuple(sorted((k, hashable(v)) for k, v in value.items()))
    return value
