"""The keyword arguments of handlers and filters, by kinds of handlers."""

import datetime
import enum
import logging

from kopf import _bodies, _codec, _diffs, _host, _indices, _logging, _memos, _references, _settings, _stoppers
from kopf._patches import Patch

_CHANGES = ("create", "update", "delete", "resume", "field", "sub")
_ACTIVITIES = ("startup", "cleanup", "login", "probe", "background")


class Reason(enum.StrEnum):
    """What has happened to an object."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    RESUME = "resume"
    NOOP = "noop"
    FREE = "free"
    GONE = "gone"


class Activity(enum.StrEnum):
    """What happens to the operator."""

    STARTUP = "startup"
    CLEANUP = "cleanup"
    AUTHENTICATION = "authentication"
    PROBE = "probe"


class Arguments:
    """What is known of an invocation or a question. Each argument is built when it is first asked for."""

    def __init__(self, number, kind, header, text):
        self.number, self.kind, self.header, self._text = number, kind, header, text
        self._built = {}
        self.patch = Patch()  # always there: the library looks at it in the end
        self.warnings = []

    def build(self, names, is_async=True):
        """Return the arguments of a function: those of the names, or all without names."""
        known = _NAMES.get(self.kind, _OBJECT)
        chosen = known if names is None else [name for name in known if name in names]
        kwargs = {name: self[name] for name in chosen}
        if "stopped" in kwargs:
            kwargs["stopped"] = self.stopped(is_async)
        for name in self.header.get("indices") or ():
            if names is None or name in names:
                kwargs[name] = _indices.Index(self.number, name)
        return kwargs

    def filtered(self):
        """Return the arguments of a filter: without those of attempts."""
        attempts = {*_ATTEMPT, "stopped", "warnings"} if self.kind not in ("validate", "mutate") else set(_ATTEMPT)
        kwargs = self.build([name for name in _NAMES.get(self.kind, _OBJECT) if name not in attempts])
        for name in self.header.get("indices") or ():
            kwargs[name] = _indices.Index(self.number, name)
        return kwargs

    def __getitem__(self, name):
        if name not in self._built:
            self._built[name] = self._make(name)
        return self._built[name]

    def built(self, name):
        """Return an argument if it was built; None if not."""
        return self._built.get(name)

    def _make(self, name):
        if name in ("patch", "warnings"):
            return getattr(self, name)
        if name == "stopped":
            return self.stopped(True)
        maker = getattr(self, "_" + name, None)
        return self.header.get(name) if maker is None else maker()

    def stopped(self, is_async):
        kind = _stoppers.AsyncDaemonStopperChecker if is_async else _stoppers.SyncDaemonStopperChecker
        return kind(self)

    def _body(self):
        if self.kind in ("daemon", "timer"):
            return _bodies.LiveBody(self.number, self._text)
        return _bodies.Body(_codec.loads(self._text) if self._text else {})

    def _meta(self):
        return self["body"].meta

    def _spec(self):
        return self["body"].spec

    def _status(self):
        return self["body"].status

    def _labels(self):
        return self["body"].meta.labels

    def _annotations(self):
        return self["body"].meta.annotations

    def _resource(self):
        return _references.resource_of(self.header.get("resource") or {})

    def _memo(self):
        return _memos.StoredMemo(self.number, _host.OPERATOR if self.kind in _ACTIVITIES else _host.OBJECT, keeps=self.kind == "startup")

    def _logger(self):
        if self.kind in _ACTIVITIES:
            return logging.getLogger(f"kopf.activities.{self.header.get('activity') or self.kind}")
        return _logging.ObjectLogger(body=self["body"])

    def _retry(self):
        return self.header.get("retry") or 0

    def _started(self):
        text = self.header.get("started")
        return datetime.datetime.fromisoformat(text) if text else datetime.datetime.now(datetime.timezone.utc)

    def _runtime(self):
        return datetime.timedelta(seconds=self.header.get("runtime") or 0)

    def _old(self):
        return self._state(_host.OLD)

    def _new(self):
        return self._state(_host.NEW)

    def _state(self, tag):
        value = _host.segment(self.number, tag)
        whole = self.kind in ("validate", "mutate") and isinstance(value, dict)
        return _bodies.Body(value) if whole else value

    def _diff(self):
        return _diffs.Diff(_host.segment(self.number, _host.DIFF) or ())

    def _event(self):
        return _host.segment(self.number, _host.EVENT)

    def _reason(self):
        return _member(Reason, self.header.get("reason"))

    def _settings(self):
        return _settings.OperatorSettings._of(self.header.get("settings") or {})

    def _admission(self):
        return self.header.get("admission") or {}

    def _dryrun(self):
        return bool(self._admission().get("dryrun"))

    def _operation(self):
        return self._admission().get("operation")

    def _subresource(self):
        return self._admission().get("subresource")

    def _userinfo(self):
        return self._admission().get("userinfo") or {}

    def _sslpeer(self):
        return self._admission().get("sslpeer") or {}

    def _headers(self):
        found = self._admission().get("headers") or {}
        return {name: value if isinstance(value, str) else ", ".join(value) for name, value in found.items()}

    def _activity(self):
        return _member(Activity, self.header.get("activity"))



def _member(enumeration, value):
    """Return the member of a value; the value itself if there is none."""
    return enumeration(value) if value in enumeration._value2member_map_ else value


_ATTEMPT = ("param", "retry", "started", "runtime")
_BASE = (*_ATTEMPT, "logger", "memo")
_OBJECT = (*_BASE, "resource", "patch", "body", "spec", "meta", "status", "uid", "name", "namespace", "labels", "annotations")
_CHANGE = (*_OBJECT, "reason", "diff", "old", "new")
_REVIEW = (*_OBJECT, "dryrun", "headers", "sslpeer", "userinfo", "warnings", "operation", "subresource", "old", "new", "diff")
_NAMES = {
    **dict.fromkeys(_CHANGES, _CHANGE), **dict.fromkeys(_ACTIVITIES, (*_BASE, "activity", "settings")),
    **dict.fromkeys(("daemon", "timer"), (*_OBJECT, "stopped")), **dict.fromkeys(("validate", "mutate"), _REVIEW),
    "event": (*_OBJECT, "type", "event"), "index": _OBJECT, "convert": (*_OBJECT, "conversion"),
}
