"""Kubernetes events about objects."""

import collections.abc
import logging
import sys

from kopf import _codec, _context, _hierarchies, _host


def event(objs, *, type, reason, message="", backoffs=None):
    """Post an event of any type about an object, or about each of several ones."""
    _post(objs, None, type, reason, message, backoffs)


def info(objs, *, reason, message="", backoffs=None):
    """Post an event of the type Normal."""
    _post(objs, 20, "Normal", reason, message, backoffs)


def warn(objs, *, reason, message="", backoffs=None):
    """Post an event of the type Warning."""
    _post(objs, 30, "Warning", reason, message, backoffs)


def exception(objs, *, reason="", message="", exc=None, backoffs=None):
    """Post an event of the type Error, by default about the exception that is being handled."""
    exc = sys.exc_info()[1] if exc is None else exc
    text = f"{message} {exc}" if message and exc else f"{exc}" if exc else f"{message}"
    _post(objs, 40, "Error", reason or type(exc).__name__, text, backoffs)


def _post(objs, level, type, reason, message, backoffs):
    task = _context.here("an event")
    for obj in _hierarchies.walk(objs):
        posted = {"type": str(type), "reason": str(reason), "message": str(message)}
        if level is not None:
            posted["level"] = level
        if backoffs is not None:
            posted["backoffs"] = backoffs if isinstance(backoffs, (int, float, dict)) else _codec.backoffs(backoffs)
        subject = _subject(obj)
        if subject.get("metadata", {}).get("uid") != task.header.get("uid") or not task.header.get("uid"):
            posted["object"] = subject
        try:
            _host.event(task.number, posted)
        except _host.HostError as error:  # as in the reference, events do not fail handlers
            logging.getLogger("kopf.events").warning(f"{error}. Ignoring and continuing. Event: type={type!r}, reason={reason!r}, message={message!r}.")


def _subject(obj):
    if not isinstance(obj, collections.abc.Mapping):
        obj = _hierarchies.plain(obj)
    meta = obj.get("metadata") or {}
    names = {key: meta[key] for key in ("name", "namespace", "uid", "resourceVersion") if meta.get(key)}
    found = {"apiVersion": obj.get("apiVersion"), "kind": obj.get("kind"), "metadata": names}
    return _codec.copied({key: value for key, value in found.items() if value})
