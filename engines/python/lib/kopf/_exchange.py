"""The messages of the host: what C calls. See ../README.md and abi/SPEC.md."""

import gc
import random
import sys

from kopf import (
    _absent, _aliases, _clients, _codec, _context, _errors, _filters, _host, _logging, _loop, _packages, _references, _registry,
    _scripts, _tasks,
)

_seeded = False  # clones share the state of one generator until their first task


def register(task, message):
    """Run the script, and return the registration or the error."""
    request = _codec.loads(message)
    _install()
    try:
        name = _scripts.load(request.get("config") or {})
        registry = _registry.get_default_registry()
        if not registry.handlers:
            raise _scripts.ScriptError(f"{name} declares no handlers. Decorate a function, as in @kopf.on.create('kopfexamples').")
        registry.warn()
        registry.name = _scripts.operator_name(name)
        answer = _codec.dumps(registry.registration(registry.name))
    except _scripts.ScriptError as error:
        return _codec.dumps({"error": str(error)})
    _loop.warm()
    _warm()
    gc.collect()
    gc.freeze()  # so that no collection writes to what all clones share
    return answer


_WARM = 20  # calls: CPython adapts code to its use after eight, and once more after some
_WARM_HEADER = {
    "kind": "create", "id": "warm", "handler": 0, "name": "a", "namespace": "b", "uid": "c", "retry": 0,
    "started": "2020-01-01T00:00:00.000000+00:00", "runtime": 0.0, "reason": "create",
}
_WARM_BODY = {"metadata": {"name": "a", "namespace": "b", "uid": "c"}, "spec": {"field": "d"}}


def _warm():
    """Call handlers that are not registered, so that code is adapted before the instance is cloned.

    Otherwise each clone adapts its own copy: that takes a fifth of the memory of a clone.
    """
    def sync(spec, logger, patch, **_):
        patch.status["seen"] = spec.get("field")
        return {"message": "warm"}

    async def other(spec, logger, patch, **_):
        return sync(spec, logger, patch)

    frame = _host.frame({_host.HEADER: _codec.dumps(_WARM_HEADER), _host.BODY: _codec.dumps(_WARM_BODY)})
    for fn in (sync, other):
        handler = _registry.Handler("create", fn, {"id": "warm"})
        for _ in range(_WARM):
            began = _tasks.Task(0, handler, *_tasks.segments_of(frame))
            _answered(began, began.start)


def _install():
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True)
    _logging.install()
    _loop.install()
    _absent.install()
    _clients.install()
    _aliases.install()
    _packages.install()


def start(task, frame):
    """Begin a task, and return its first step."""
    global _seeded
    if not _seeded:
        random.seed()
        _seeded = True
    header, body = _tasks.segments_of(frame)
    try:
        began = _tasks.Task(task, _tasks.callee(header, header["handler"]), header, body)
    except Exception as error:
        return _codec.dumps({"step": "done", "error": _errors.failure(error)})
    _tasks.tasks[task] = began
    return _answered(began, began.start)


def resume(task, answer):
    """Continue a task, and return its next step."""
    waiting = _tasks.tasks[task]
    return _answered(waiting, lambda: waiting.resume(_codec.loads(answer)))


def _answered(task, advance):
    token = _context.task_var.set(task)
    try:
        step, text = task.encoded(advance())
    finally:
        _context.task_var.reset(token)
    if step["step"] == "done" and not task.leaves():
        _tasks.tasks.pop(task.number, None)
    return text


def cancel(task):
    """Do nothing: the answer of the current wait says that the task is cancelled."""


def release(task):
    """Forget a task."""
    _tasks.tasks.pop(task, None)


def ask(task, frame):
    """Answer questions about filters, each with the value of the last evaluated callback."""
    header, body = _tasks.segments_of(frame)
    question = _tasks.Question(task, header, body)
    answers = [_answer(question, item) for item in header.get("questions") or ()]
    return _codec.dumps({"answers": answers})


def _answer(question, item):
    token = _context.task_var.set(question)
    try:
        handler = _tasks.callee(item, item["handler"])
        arguments = question.about(handler.kind)
        kwargs, value = None, True
        for callback in item["callbacks"]:
            if kwargs is None and callback["option"] != "resource":
                kwargs = arguments.filtered()
            value = _filters.evaluate(callback, handler.functions, kwargs,
                                      lambda: _references.resource_of(question.header.get("resource") or {}))
            if value is not True:
                break
        return {"value": value}
    except BaseException as error:  # sys.exit() is one
        failure = _errors.failure(error)
        if "parent" not in item:  # otherwise it is the parent's error
            failure["message"] = _errors.located(error)  # the host logs the message only
        return {"error": failure}
    finally:
        _context.task_var.reset(token)


def transform(task, body):
    """Apply the functions that a task has left to a body."""
    try:
        return _codec.dumps({"body": _tasks.tasks[task].transformed(_codec.loads(body))})
    except BaseException as error:
        return _codec.dumps({"error": _errors.failure(error)})
