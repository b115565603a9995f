"""The functions of the host, and the constants of the ABI.

C implements the module `_kopf` (see ../README.md). Everything here is a thin layer on it
that speaks JSON and raises exceptions. See abi/SPEC.md, "Host functions" and "Frames".
"""

import _kopf
from kopf import _codec

HEADER, BODY, OLD, NEW, DIFF, EVENT, FRESH = range(1, 8)  # tags of segments
OBJECT, OPERATOR = 0, 1  # scopes of memos
VALUES, KEYS, LENGTH, HAS = range(4)  # operations of indices
ANY_VERSION, NO_VERSION = -1, 0  # of memo_set
ABSENT, CONFLICT = -1, -2  # negative results

_ERRORS = {
    -1: "it is absent",
    -2: "another handler has changed it",
    -3: "an address is outside of the memory",
    -4: "it is not granted to the operator",
    -5: "it is over a limit of the host",
    -6: "it is invalid",
}

log = _kopf.log
stopped = _kopf.stopped
call = _kopf.call
file = getattr(_kopf, "file", lambda path: None)  # native programs have none


class HostError(RuntimeError):
    """The host refuses what was asked for. `code` is the negative result of the function."""

    def __init__(self, subject, code):
        super().__init__(f"{subject}: {_ERRORS.get(code, code)}")
        self.code = code


def segments(frame):
    """Split a frame into its segments, by their tags."""
    found, at = {}, 0
    while at < len(frame):
        tag = int.from_bytes(frame[at:at + 4], "little")
        size = int.from_bytes(frame[at + 4:at + 8], "little")
        found[tag] = frame[at + 8:at + 8 + size]
        at += 8 + size
    return found


def frame(parts):
    """Return a frame of segments, by their tags."""
    return b"".join(tag.to_bytes(4, "little") + len(data).to_bytes(4, "little") + data for tag, data in parts.items())


def segment_bytes(task, tag):
    """Return a segment as bytes; None if the invocation has none."""
    return _kopf.segment(task, tag)


def segment(task, tag):
    """Return a segment as decoded JSON; None if the invocation has none."""
    text = _kopf.segment(task, tag)
    return _codec.loads(text) if text else None


def config(key):
    """Return a value of the configuration as text; None without the value or the grant."""
    value = _kopf.config(key)
    return None if value is None else value.decode("utf-8", "replace")


def event(task, message):
    """Post a Kubernetes event."""
    code = _kopf.event(task, _codec.dumps(message))
    if code < 0:
        raise HostError("the event is not posted", code)


def memo_get(task, scope, key):
    """Return the version and the JSON text of a value of a memo; None if there is none."""
    found = _kopf.memo_get(task, scope, key)
    if not isinstance(found, int):
        return found
    if found == ABSENT:
        return None
    raise HostError(f"memo.{key} is not read", found)


def memo_set(task, scope, key, text, version=ANY_VERSION):
    """Store a value of a memo, or delete it with an empty text; False on a conflict of versions."""
    code = _kopf.memo_set(task, scope, key, text, version)
    if code in (CONFLICT, ABSENT):
        return False
    if code < 0:
        raise HostError(f"memo.{key} is not stored", code)
    return True


def index(task, operation, name, key=b""):
    """Ask about an index: decoded JSON; None if the index or the key is absent."""
    found = _kopf.index(task, operation, name, key)
    if not isinstance(found, int):
        return _codec.loads(found) if found else None
    if found == ABSENT:
        return None
    raise HostError(f"the index {name} is not read", found)
