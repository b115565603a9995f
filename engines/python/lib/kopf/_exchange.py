"""The messages of the host: what C calls. See ../README.md and abi/SPEC.md."""

import gc
import random
import sys

from kopf import (
    _absent, _aliases, _clients, _codec, _context, _errors, _filters, _logging, _loop, _packages, _references, _registry, _scripts,
    _tasks,
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
        registry.name = _scripts.operator_name(name)
        answer = _codec.dumps(registry.registration(registry.name))
    except _scripts.ScriptError as error:
        return _codec.dumps({"error": str(error)})
    _loop.warm()
    gc.collect()
    gc.freeze()  # so that no collection writes to what all clones share
    return answer


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
        step = advance()
    finally:
        _context.task_var.reset(token)
    text = task.encoded(step)
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
        arguments = question.arguments(handler.kind)
        kwargs, value = None, True
        for callback in item["callbacks"]:
            if kwargs is None and callback["option"] != "resource":
                kwargs = arguments.filtered()
            value = _filters.evaluate(callback, handler.functions, kwargs,
                                      lambda: _references.resource_of(question.header.get("resource") or {}))
            if value is not True:
                break
        return {"value": value}
    except Exception as error:
        return {"error": _errors.failure(error)}
    finally:
        _context.task_var.reset(token)


def transform(task, body):
    """Apply the functions that a task has left to a body."""
    try:
        return _codec.dumps({"body": _tasks.tasks[task].transformed(_codec.loads(body))})
    except Exception as error:
        return _codec.dumps({"error": _errors.failure(error)})
