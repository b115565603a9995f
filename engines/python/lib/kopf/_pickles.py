"""The form of values that JSON cannot hold exactly.

Memos and indices of the reference hold any object. The host holds JSON. Values of other types
(tuples, sets, datetimes, dataclasses) are pickled, and marked by a key.

A pickle is code. Other modules of the operator store values, too, and those can be parts of objects, which
others write. So each pickle has a seal, by a secret that the script keeps in the memo of the operator.
What has no valid seal is data.
"""

import base64
import hashlib
import os
import pickle

from kopf import _codec, _host

_PICKLE, _SEAL = "$python", "$seal"
_SECRET = "kopf.secret"  # a key of the operator's memo, which is not listed
_secret = None  # clones have none until they need it


def _sealed(secret, text):
    return hashlib.blake2b(text, key=secret, digest_size=16).hexdigest()


def _known(task):
    """Return the secret; None if nothing was sealed yet."""
    global _secret
    if _secret is None:
        found = _host.memo_get(task, _host.OPERATOR, _SECRET)
        if found is not None:
            _secret = bytes.fromhex(_codec.loads(found[1]))
    return _secret


def _made(task):
    """Return the secret. The first instance makes it."""
    while _known(task) is None:
        _host.memo_set(task, _host.OPERATOR, _SECRET, _codec.dumps(os.urandom(32).hex()), _host.NO_VERSION)
    return _secret


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


def pack(task, value, subject):
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
    return {_PICKLE: base64.b64encode(text).decode(), _SEAL: _sealed(_made(task), text)}


def unpack(task, value):
    """Return the value of a form of pack. What another module has stored is returned unchanged."""
    if type(value) is not dict or value.keys() != {_PICKLE, _SEAL} or not all(type(part) is str for part in value.values()):
        return value
    try:
        text = base64.b64decode(value[_PICKLE], validate=True)
    except ValueError:
        return value
    secret = _known(task)
    return pickle.loads(text) if secret is not None and _sealed(secret, text) == value[_SEAL] else value
