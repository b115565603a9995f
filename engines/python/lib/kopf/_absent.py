"""What a sandbox cannot have: calls of it raise errors that say what to do."""

import builtins
import concurrent.futures.thread
import io
import sys
import threading
import time
import tokenize
from asyncio import events

from kopf import _files

_RUN = ("{name}() is not for scripts in the sandbox: the host runs the operator. Remove the call, or guard it by "
        "`if __name__ == '__main__':`, and run the script by `kopf run`.")


def _runner(name):
    def refuse(*args, **kwargs):
        raise RuntimeError(_RUN.format(name=f"kopf.{name}"))

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


run, operator, run_tasks, spawn_tasks, main = map(_runner, ("run", "operator", "run_tasks", "spawn_tasks", "cli.main"))


def _start_thread(self):
    raise RuntimeError(
        f"the thread {self.name} cannot start: there are no threads in the sandbox. Use `async def` handlers with asyncio.gather or "
        "asyncio.TaskGroup, ThreadPoolExecutor, which calls functions one after another, and @kopf.daemon for what runs in the background.")


def _submit(self, fn, /, *args, **kwargs):
    """Call the function at once, as asyncio.to_thread does here."""
    if self._initializer is not None:
        self._initializer(*self._initargs)
        self._initializer = None
    future, loop = concurrent.futures.Future(), events._get_running_loop()
    events._set_running_loop(None)  # as in a thread: requests block, and asyncio.run works
    try:
        concurrent.futures.thread._WorkItem(future, fn, args, kwargs).run()
    finally:
        events._set_running_loop(loop)
    return future


def _wait(self, timeout=None):
    """Wait as threading.Condition does when it is not notified: there is no other thread."""
    if timeout is None:
        raise RuntimeError("the script waits for another thread, and there are none in the sandbox: it would wait for ever")
    time.sleep(max(0, timeout))
    return False


def _opened(real):
    def open(file, mode="r", *args, **kwargs):
        found = _files.opened(file, mode, *args, **kwargs)
        if found is not None:
            return found
        try:
            return real(file, mode, *args, **kwargs)
        except OSError as error:
            text = (f"{error.strerror or error}; the sandbox has only the files of packed packages. Put files into a package of the script, a folder with __init__.py, "
                    "or read values by os.environ, which has the configuration: kopf run --config KEY=VALUE, --config-file KEY=FILE")
            raise type(error)(error.errno, text, error.filename) from None

    return open


def install():
    """Replace what cannot work by errors. Files and sockets are replaced in the sandbox only."""
    threading.Thread.start = _start_thread
    threading.Condition.wait = _wait
    concurrent.futures.ThreadPoolExecutor.submit = _submit
    if sys.platform == "wasi":
        builtins.open = io.open = tokenize._builtin_open = _opened(builtins.open)  # tokenize reads the lines of tracebacks
        _files.install()
