"""The life of an invocation: its steps, and the answers of the host."""

import asyncio
import contextvars

from kopf import _calls, _codec, _errors, _filters, _host, _indices, _registry
from kopf._context import handler_var, task_var
from kopf._kwargs import Arguments
from kopf._loop import Loop
from kopf._patches import Patch, changes, merged

tasks = {}  # by their numbers: those that are not over


class _Current:
    """The running handler, as `kopf._core.actions.execution.handler_var` has it."""

    def __init__(self, handler, header):
        self.id, self.fn, self.param = header.get("id", handler.id), handler.fn, header.get("param")


class Task:
    """One attempt of a handler."""

    def __init__(self, number, handler, header, body):
        self.number, self.handler, self.header, self.kind = number, handler, header, header["kind"]
        self.arguments = Arguments(number, self.kind, header, body)
        self.declared, self.offered = [], []  # sub-handlers: not executed yet, and of the last step
        self.executed, self.cancelled, self.waits = False, False, 0
        self.executing = asyncio.Lock()  # what is offered is that of one execute() at a time
        self.loop = self.main = None
        parent = tasks.get(header.get("parent"))
        self.context = contextvars.copy_context() if parent is None else parent.context.copy()
        self.context.run(task_var.set, self)
        self.context.run(handler_var.set, _Current(handler, header))

    def start(self):
        """Call the handler, and return the first step."""
        if not self.handler.is_async:
            return self.context.run(self._call)
        self.loop = Loop(driven=True)
        self.main = self.loop.create_task(self._await(), context=self.context)
        return self._step()

    def _kwargs(self):
        return self.arguments.build(self.handler.wanted, self.handler.is_async)

    def _call(self):
        try:
            return self._done(self.handler.fn(**self._kwargs()))
        except BaseException as error:
            return self._failed(error)

    async def _await(self):
        return await self.handler.fn(**self._kwargs())

    def resume(self, answer):
        """Continue with an answer of the host, and return the next step."""
        if answer.get("cancelled") and not self.cancelled:
            self.cancelled = True  # once: later waits are those of cleaning up
            self.main.cancel()
        if answer.get("stopped"):
            for future in list(self.loop.stops):
                if not future.done():
                    future.set_result(None)
        if self._asked:
            self._take(answer)
        return self._step()

    def _take(self, answer):
        """Give an answer to its wish. An empty answer says that a request is still under way."""
        step, future = self.loop.wishes[0]
        self._underway = step["step"] == "call" and not answer
        if not self._underway:
            self.loop.wishes.popleft()
            if not future.done():
                future.set_result(answer)

    def _step(self):
        ready = self._turn()
        if not self.main.done() and self.ended is None and not self._flushed():
            ready = self._turn()
        if self.main.done():
            step = self._outcome()
            self._end_others()
            self.loop.close()
            self.loop = self.main = None
            return step
        while self.loop.wishes and self.loop.wishes[0][1].done():  # cancelled: the host abandons the request
            self.loop.wishes.popleft()
            self._underway = False
        self._asked = bool(self.loop.wishes)
        return self._wish(ready) if self._asked else self._wait(ready)

    def _end_others(self):
        """Cancel the tasks that the handler has left behind: its loop ends with it."""
        left = [task for task in asyncio.all_tasks(self.loop) if not task.done()]
        if not left:
            return
        self.context.run(self.arguments["logger"].warning, f"Handler {self.header['id']!r} leaves {len(left)} asyncio tasks behind, which are "
                         "cancelled: a loop lives as long as its handler. Await them, or use @kopf.daemon for what runs in the background.")
        for task in left:
            task.cancel()
        self._turn()

    _asked = False  # for something else than time, in the last step
    _underway = False  # a request, whose answer the last step did not bring

    def _wish(self, ready):
        """Return the step of the oldest wish. Timers are due while a request is under way."""
        step, seconds = self.loop.wishes[0][0], self._delay(ready)
        if self._underway:
            step = {"step": "call", "continue": True}
        if seconds is not None and step["step"] == "call":
            step = {**step, "seconds": seconds}
        return step

    def _delay(self, ready):
        """Return the seconds until a timer is due; None if there is none."""
        times = [self.loop.delay() if ready else 0, self.loop.look() if self.kind == "daemon" else None]
        seconds = min((time for time in times if time is not None), default=None)
        return None if seconds == float("inf") else seconds

    def _turn(self):
        try:
            return self.loop.turn()
        except (SystemExit, KeyboardInterrupt) as error:  # asyncio lets them through
            if not self.main.done():
                self.main.cancel()
                self.loop.turn()
            self.ended = error
            return True

    ended = None

    def _wait(self, ready):
        if self.cancelled:
            self.waits += 1
            if self.waits == 2:
                self.arguments["logger"].warning(
                    f"Handler {self.header['id']!r} is cancelled, but continues. It must end when it gets "
                    "asyncio.CancelledError: raise it again after the clean-up.")
        step = {"step": "wait"}
        seconds = self._delay(ready)
        if seconds is not None:
            step["seconds"] = seconds
        if self.loop.stops:
            step["stoppable"] = True
        return step

    def _outcome(self):
        if self.ended is not None:
            return self._failed(self.ended)
        if self.main.cancelled():
            return self._failed(asyncio.CancelledError("the handler is cancelled"))
        error = self.main.exception()
        return self._failed(error) if error is not None else self._done(self.main.result())

    def _flushed(self):
        """Write the memo before a wait. If a value cannot be kept, the handler is cancelled, and ends with that error."""
        try:
            self._flush()
        except Exception as error:
            self.ended = error
            self.main.cancel()
        return self.ended is None

    def _flush(self):
        memo = self.arguments.built("memo")
        if memo is not None:
            memo.flush()

    def _done(self, result):
        try:
            self._flush()
            step = self._kept()
            step |= _indices.result(self.number, result, self.header["id"]) if self.kind == "index" else self._result(result)
        except Exception as error:
            return self._failed(error)
        if self.declared and not self.executed:  # the reference forgets those that were declared later
            step["children"] = self.offer(self.declared)
            self._end_patch()
        return step

    sent, fns = None, 0  # of the patch in the last step of a handler with sub-handlers
    late = {}  # of the patches of the handlers above

    def _end_patch(self):
        """Remember the patch of the last step: sub-handlers may change it later, as in the reference, where they have the same one."""
        try:
            self.sent, self.fns = _codec.copied(self.arguments.patch), len(self.arguments.patch.fns)
        except (TypeError, ValueError, RecursionError):
            pass  # so the step cannot be sent, either

    def _inherit(self):
        """Take over what this sub-handler has changed in the patches of the handlers above it, whose last steps do not have it."""
        above = tasks.get(self.header.get("parent"))
        while above is not None:
            if above.sent is not None:
                patch = above.arguments.patch
                now = _codec.copied(patch)
                self.late, above.sent = merged(changes(now, above.sent), self.late), now
                self.arguments.patch.fns.extend(patch.fns[above.fns:])
                del patch.fns[above.fns:]
            above = tasks.get(above.header.get("parent"))

    def _result(self, result):
        if result is None or self.kind in ("validate", "mutate", "startup", "cleanup"):
            return {}
        if self.kind == "login":
            return {"result": _login(result)}
        return {"result": result}

    def encoded(self, step):
        """Return a step, and its JSON. If JSON cannot hold it, that is the error of the handler, or of what it awaits."""
        while True:
            try:
                return step, _codec.dumps(step)
            except (TypeError, ValueError, RecursionError) as error:
                step = self._unwritable(step, error) if step["step"] == "done" else self._refused(error)

    def _refused(self, error):
        """Raise an error where the step is awaited, and return the next step."""
        step, future = self.loop.wishes.popleft()
        what = "the request" if step["step"] == "call" else f"the patch of handler {self.header['id']!r}"
        future.set_exception(TypeError(f"{what} cannot be sent: {_errors.text(error)}"))
        return self._step()

    def _unwritable(self, step, error):
        step = {key: value for key, value in step.items() if key not in ("result", "children", "keyed")}
        try:
            _codec.dumps(step.get("patch"))
            message = (f"Handler {self.header['id']!r} returns what JSON cannot hold: {_errors.text(error)}. The result is stored by the "
                       "host: return numbers, texts, lists, dicts, or None.")
        except (TypeError, ValueError, RecursionError) as broken:
            step = {"step": "done"}
            message = (f"the patch of handler {self.header['id']!r} cannot be sent: {_errors.text(broken)}. A patch has numbers, texts, "
                       "lists, dicts, and None for what is removed.")
        self.offered, self.arguments.patch = [], self.arguments.patch if "patch" in step else Patch()
        return {**step, "error": _errors.failure(TypeError(message))}

    def _failed(self, error):
        if isinstance(error, TypeError) and _errors.innermost(error) in (Task._call.__code__, Task._await.__code__):
            hint = ": end the arguments with **_, because handlers get more than they use" if "unexpected keyword" in str(error) else ""
            error = TypeError(f"{error} ({_calls.place(self.handler.fn)}){hint}")
        if isinstance(error, SystemExit) and self.kind == "startup":  # it ends the operator, as in the reference
            error = _errors.PermanentError(f"SystemExit: {_errors.text(error)}").with_traceback(error.__traceback__)
        if isinstance(error, (SystemExit, KeyboardInterrupt, GeneratorExit)):
            error = RuntimeError(f"{type(error).__name__}: a handler cannot end the operator. Raise kopf.PermanentError.")
        try:
            self._flush()
        except Exception as broken:
            error = broken
        try:
            step = self._kept()
        except Exception as broken:  # settings that cannot be sent: no retry makes them better
            step, error = {"step": "done"}, broken
            if self.kind == "startup":
                error = _errors.PermanentError(_errors.text(broken)).with_traceback(broken.__traceback__)
        return {**step, "error": _errors.failure(error)}

    def _kept(self):
        """Return the fields of the last step that hold after errors, too."""
        step, arguments = {"step": "done"}, self.arguments
        if self.kind == "sub":
            self._inherit()
        if arguments.patch or self.late:
            step["patch"] = merged(self.late, arguments.patch)
            step["transforms"] = len(arguments.patch.fns)
        if arguments.warnings:
            step["warnings"] = [str(text) for text in arguments.warnings]
        settings = arguments.built("settings")
        changes = settings._changes() if settings is not None else None
        if self.kind == "startup" and changes is not None:
            step["settings"] = changes
        elif changes:
            arguments["logger"].warning(f"Handler {self.header['id']!r} changes settings without an effect: {', '.join(changes)}. Only startup handlers can.")
        return step

    def leaves(self):
        """Tell whether the task is needed after its last step."""
        return bool(self.offered or self.arguments.patch.fns)

    def offer(self, children):
        """Return the declarations of sub-handlers, which the host starts by their positions."""
        self.offered = children
        return _registry.identified(children)

    async def execute(self, children, lifecycle):
        """Run sub-handlers. Return whether some are unfinished."""
        loop = asyncio.get_running_loop()
        async with self.executing:
            step = {"step": "execute", "children": self.offer(children)}
            if self.arguments.patch:
                step["patch"] = dict(self.arguments.patch)  # those of sub-handlers follow it
            if lifecycle is not None:
                step["lifecycle"] = lifecycle
            answer = await loop.wish(step)
        return bool(answer.get("pending"))

    def transformed(self, body):
        """Return a body with the functions of the patch applied."""
        for fn in self.arguments.patch.fns:
            _filters.settled(self.context.run(fn, body), "functions of patches")
        return body


def _login(result):
    describe = getattr(result, "_describe", None)
    if describe is None:
        raise TypeError(f"a login handler returns kopf.ConnectionInfo or None, not {type(result).__name__}")
    return describe()


def callee(header, position):
    """Return the handler that an invocation or a question is about."""
    parent = tasks.get(header.get("parent"))
    if parent is not None:
        return parent.offered[position]
    return _registry.get_default_registry().handlers[position]


class Question:
    """The cause of a question about filters, in the place of a task."""

    kind = "filter"

    def __init__(self, number, header, body):
        self.number, self.header, self.body = number, header, body
        self.arguments = None  # of the handler that is asked about

    def about(self, kind):
        """Return the arguments for handlers of a kind."""
        self.arguments = Arguments(self.number, kind, self.header, self.body)
        return self.arguments


def segments_of(frame):
    """Return the header and the bytes of the body of a frame."""
    found = _host.segments(frame)
    return _codec.loads(found[_host.HEADER]), found.get(_host.BODY)
