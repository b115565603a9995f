"""A host for tests: it plays the other side of the ABI in the same process."""

import json
import sys
import os
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))


class FakeHost:
    """What the host keeps and gives, by the functions of `_kopf`."""

    def __init__(self):
        self.logs, self.events, self.memos, self.indices, self.segments, self.configs = [], [], {}, {}, {}, {}
        self.reasons, self.calls, self.responses, self.files = 0, [], [], {}

    def log(self, task, level, text):
        self.logs.append((task, level, text))

    def segment(self, task, tag):
        value = self.segments.get(tag)
        return None if value is None else json.dumps(value).encode()

    def stopped(self, task):
        return self.reasons() if callable(self.reasons) else self.reasons

    def config(self, key):
        value = self.configs.get(key)
        return None if value is None else value.encode()

    def file(self, path):
        if path == "":
            return "".join(f"{name}\n" for name in sorted(self.files)).encode()
        return self.files.get(path)

    def event(self, task, event):
        self.events.append(json.loads(event))
        return 0

    def call(self, task, call):
        self.calls.append(json.loads(call))
        return json.dumps(self.responses.pop(0)).encode()

    def memo_get(self, task, scope, key):
        return self.memos.get((scope, key), -1)

    def memo_set(self, task, scope, key, value, version):
        known = self.memos.get((scope, key), (0, b""))[0]
        if version not in (-1, known):
            return -2
        if value:
            self.memos[scope, key] = (known + 1, value)
        else:
            self.memos.pop((scope, key), None)
        return known + 1

    def index(self, task, op, name, key):
        index = self.indices.get(name)
        if index is None:
            return -1
        wanted = json.loads(key) if key else None
        values = [value for k, value in index if k == wanted]
        keys = []
        for k, _ in index:
            if k not in keys:
                keys.append(k)
        return json.dumps([values, keys, len(keys), wanted in keys][op]).encode()


NAMES = ("log", "segment", "stopped", "config", "event", "memo_get", "memo_set", "index", "file", "call")
_current = None


def _module():
    module = types.ModuleType("_kopf")
    for name in NAMES:
        setattr(module, name, lambda *args, name=name: getattr(_current, name)(*args))
    sys.modules["_kopf"] = module


_module()


class Operator:
    """A registered script, whose handlers can be called."""

    def __init__(self, script, name="operator.py", files=None, **config):
        global _current
        self.host = _current = FakeHost()
        self.host.files = files or {}
        import threading
        from kopf import _exchange, _registry, _tasks
        self.exchange, self.number = _exchange, 0
        _registry.set_default_registry(_registry.OperatorRegistry())
        _tasks.tasks.clear()
        started = threading.Thread.start
        message = {"abi": 1, "config": {"KOPF_SCRIPT": script, "KOPF_SCRIPT_NAME": name, **config}}
        try:
            self.registration = json.loads(_exchange.register(0, json.dumps(message).encode()))
        finally:
            threading.Thread.start = started  # pytest has threads
        self.handlers = self.registration.get("handlers", [])

    def start(self, handler=0, body=None, task=None, **header):
        """Start a handler, and return its first step."""
        if task is None:
            self.number += 1
            task = self.number
        if isinstance(handler, str):
            handler = [declared["id"] for declared in self.handlers].index(handler)
        if "parent" not in header:
            declared = self.handlers[handler]
            header = {"kind": declared["kind"], "id": declared["id"], **header}
        header = {"handler": handler, "retry": 0, "started": "2020-01-01T00:00:00.000000+00:00", "runtime": 1.5, **header}
        if body is not None:
            meta = body.get("metadata", {})
            header = {"resource": RESOURCE, **{k: meta[k] for k in ("name", "namespace", "uid") if k in meta}, **header}
        return json.loads(self.exchange.start(task, frame(header, body)))

    def resume(self, task=None, **answer):
        """Continue a task, and return its next step."""
        return json.loads(self.exchange.resume(task or self.number, json.dumps(answer).encode()))

    def run(self, handler=0, body=None, **header):
        """Start a handler, end its waits, and return its last step."""
        step = self.start(handler, body, **header)
        while step["step"] == "wait":
            assert step.get("seconds", 1) < 1, step
            import time
            time.sleep(step.get("seconds", 0))
            step = self.resume()
        return step

    def ask(self, handler, *callbacks, body=None, item=(), **header):
        """Ask about filters of a handler, and return the answer."""
        header = {"resource": RESOURCE, "questions": [{"handler": handler, "callbacks": list(callbacks), **dict(item)}], **header}
        return json.loads(self.exchange.ask(99, frame(header, body)))["answers"][0]

    def transform(self, body, task=None):
        """Apply the functions of a patch to a body."""
        return json.loads(self.exchange.transform(task or self.number, json.dumps(body).encode()))


RESOURCE = {"group": "kopf.dev", "version": "v1", "plural": "kopfexamples", "kind": "KopfExample", "namespaced": True, "preferred": True}
BODY = {
    "apiVersion": "kopf.dev/v1", "kind": "KopfExample",
    "metadata": {"name": "obj1", "namespace": "ns1", "uid": "uid1", "labels": {"app": "web"}, "annotations": {"a": "b"}},
    "spec": {"field": "one", "items": ["a", "b"], "nested": {"x": 1}}, "status": {"ready": True},
}


def frame(header, body=None):
    """Return a frame of a header and a body."""
    data = b""
    for tag, value in ((1, header), (2, body)):
        if value is not None:
            text = json.dumps(value).encode()
            data += tag.to_bytes(4, "little") + len(text).to_bytes(4, "little") + text
    return data
