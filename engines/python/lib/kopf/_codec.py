"""JSON of messages, and the form of values that JSON cannot hold exactly.

Memos and indices of the reference hold any object. The host holds JSON. Values of other types
(tuples, sets, datetimes, dataclasses) are pickled, and marked by one key.
"""

import base64
import collections.abc
import json
import pickle

_PICKLE = "$python"


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


def _exact(value):
    """Tell whether a value survives JSON unchanged."""
    kind = type(value)
    if kind in (str, int, bool, type(None)):
        return True
    if kind is float:
        return value == value and value not in (float("inf"), float("-inf"))
    if kind is list:
        return all(map(_exact, value))
    if kind is dict:
        return _PICKLE not in value and all(type(k) is str and _exact(v) for k, v in value.items())
    return False


def pack(value, subject):
    """Return the JSON form of any value. TypeError: it cannot leave this instance."""
    if _exact(value):
        return value
    try:
        text = pickle.dumps(value)
    except Exception as error:
        raise TypeError(
            f"{subject} cannot be kept: {type(value).__name__} belongs to this instance of the script, and "
            f"handlers run in several instances ({error}). Keep data instead, such as numbers, texts, lists, dicts."
        ) from None
    return {_PICKLE: base64.b64encode(text).decode()}


def unpack(value):
    """Return the value of a form of pack."""
    if type(value) is dict and _PICKLE in value and len(value) == 1:
        return pickle.loads(base64.b64decode(value[_PICKLE]))
    return value


def hashable(value):
    """Return a key of an index as Python can hash it: lists are tuples."""
    if isinstance(value, list):
        return tuple(map(hashable, value))
    if isinstance(value, dict):
        return tuple(sorted((k, hashable(v)) for k, v in value.items()))
    return value
