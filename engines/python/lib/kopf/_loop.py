"""The event loop: CPython's own, which returns to the host where it would wait.

`BaseEventLoop` does everything by two lists: what is ready, and what is due later. So tasks,
gather, timeouts, queues, locks and cancellation are CPython's own code.

The loop of an async handler is driven by `turn`, step by step. The loop of `asyncio.run` in a
sync function runs to its end, and sleeps: then the whole instance waits.
"""

import asyncio
import collections
import functools
import heapq
import itertools
import sys
import threading
import time
from asyncio import events, mixins, tasks

from kopf import _context, _sockets, _streams

# Rounds until the host gets a turn, so that code that never really waits cannot hold it up.
_MAX_ROUNDS = 10_000

# Seconds between two looks of a daemon at what other daemons of its instance do: the host resumes one of them only.
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 1.0

_numbers = itertools.count(1)


class _Clock:
    """The selector of a loop without files: it waits for times only."""

    def __init__(self, loop):
        self._loop = loop

    def select(self, timeout=None):
        if self._loop.driven or timeout == 0:
            return ()
        if timeout is None:
            raise RuntimeError("asyncio.run() waits for something that cannot happen: nothing is scheduled, "
                               "and nothing else runs while a sync function waits")
        time.sleep(max(0, timeout))
        return ()

    def get_map(self):
        return {}

    def close(self):
        pass


class Loop(asyncio.BaseEventLoop):
    """The event loop of one handler."""

    def __init__(self, driven=False):
        super().__init__()
        self._selector = _Clock(self)
        self.number = next(_numbers)
        self.driven = driven  # by steps of the host
        self.stops = set()  # futures of those who wait for the end of a daemon
        self.others = set()  # futures of those who wait for a lock, a queue or an event: the loop of another daemon can end them
        self.pause = 0  # of the last look at these
        self.wishes = collections.deque()  # (step, future): what the host is asked for, in order

    def _process_events(self, event_list):
        pass

    def _write_to_self(self):
        pass

    def turn(self):
        """Run what is ready or due. Return False if there is more to run without a wait."""
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._asyncgen_firstiter_hook, finalizer=self._asyncgen_finalizer_hook)
        events._set_running_loop(self)
        self._thread_id = threading.get_ident()
        try:
            rounds = 0
            while self._ready or self.delay() == 0:
                self._run_once()
                rounds += 1
                if rounds == _MAX_ROUNDS:
                    return False
            return True
        finally:
            self._thread_id = None
            events._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)

    def delay(self):
        """Return the seconds until something is due, None if nothing is."""
        later = self._scheduled
        while later and later[0]._cancelled:
            heapq.heappop(later)._scheduled = False
            self._timer_cancelled_count -= 1
        if not later:
            return None
        left = later[0]._when - self.time()
        return left if left >= self._clock_resolution else 0  # NaN is due at once, as for asyncio

    def create_shared_future(self):
        """Return the future of a wait for a lock, a queue or an event."""
        future = self.create_future()
        self.others.add(future)
        future.add_done_callback(self.others.discard)
        self.pause = _FIRST_PAUSE / 2
        return future

    def look(self):
        """Return the seconds until the next look at what other loops do; None if nothing waits for them."""
        if not self.others:
            return None
        self.pause = min(2 * self.pause, _LAST_PAUSE)
        return self.pause

    def wish(self, step):
        """Ask the host for a step; the future gets the answer."""
        if not self.driven:
            raise RuntimeError("asyncio.run() in a sync function cannot ask the host for anything, because the "
                               "instance waits for the function: make the handler `async def`, and await it there")
        future = self.create_future()
        self.wishes.append((step, future))
        return future

    def run_in_executor(self, executor, func, *args):
        """Call the function at once: there are no threads, so it blocks this instance."""
        future, loop = self.create_future(), events._get_running_loop()
        events._set_running_loop(None)  # as in a thread: requests block, and asyncio.run works
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        finally:
            events._set_running_loop(loop)
        return future

    def is_closed(self):
        return super().is_closed() and _other(self) is self

    def close(self):
        """Close the loop. Who keeps it calls another one: see `_shared`."""
        super().close()
        self.call_soon = self.call_soon_threadsafe = _soon

    def __del__(self):
        if not self._closed:  # `is_closed` says no while another loop runs, so the warning would be about each handler
            super().__del__()

    async def getaddrinfo(self, host, port, **options):
        return _sockets.addresses(host, port)

    async def sock_connect(self, sock, address):
        sock.connect(address)

    create_connection = _streams.connect

    async def create_server(self, *args, **kwargs):
        raise OSError(_sockets.NO_SERVERS)

    async def shutdown_default_executor(self, timeout=None):
        """Do nothing: there is no executor."""

    def _refused(self, *args, **kwargs):
        raise OSError("the sandbox has no connections and no processes: the host makes requests, by kopf.api, kopf.fetch, httpx, or aiohttp")

    async def _refuse(self, *args, **kwargs):
        self._refused()

    add_reader = add_writer = _refused
    getnameinfo = create_datagram_endpoint = create_unix_connection = create_unix_server = start_tls = sock_accept = sock_recv = sock_sendall = _refuse
    subprocess_exec = subprocess_shell = connect_read_pipe = connect_write_pipe = _refuse


def _other(loop):
    """Return the running loop in place of another one, which a client has kept since it was made: in the reference, all handlers share a loop."""
    running = events._get_running_loop()
    return running if isinstance(running, Loop) else loop


def _shared(name):
    method = getattr(asyncio.BaseEventLoop, name)
    return functools.wraps(method)(lambda self, *args, **kwargs: method(_other(self), *args, **kwargs))


def _future(loop):
    """Be `create_future`. The client that keeps the loop is shared: who uses it in another loop can end the wait."""
    running = _other(loop)
    return asyncio.Future(loop=loop) if running is loop else running.create_shared_future()


Loop.create_future, Loop.create_task, Loop.call_at = _future, _shared("create_task"), _shared("call_at")


def _soon(callback, *args, context=None):
    """Be `call_soon` of a closed loop."""
    return events.get_running_loop().call_soon(callback, *args, context=context)


def _current_task(loop=None):
    return tasks.current_task(loop and _other(loop))


class _Waits:
    """What locks, queues and events take for their loop if other loops use them, too."""

    @staticmethod
    def create_future():
        return events._get_running_loop().create_shared_future()


def _made(kind, *args, **kwargs):
    """Make a lock, a queue or an event, which knows the loop that makes it: None is the top level of the script."""
    made = object.__new__(kind)
    made._options = args, kwargs
    made._loop = getattr(events._get_running_loop(), "number", None)
    return made


def _new(kind, args, kwargs):
    return kind(*args, **kwargs)


_warned = False


def _copied(made, protocol):
    """Be the pickle of a lock: a new one, because what waits for this one, and who has it, cannot leave the instance."""
    global _warned
    task = _context.task_var.get(None)
    if task is not None and not _warned:
        _warned = True
        task.arguments["logger"].warning(f"The {type(made).__name__} in a memo is copied: each handler gets one of its own, and waits for no other handler.")
    return _new, (type(made), *made._options)


def _loop_of(made):
    """Return what makes the future of a wait. Once another loop waits, both can end the waits of each other."""
    loop = events._get_running_loop()
    if made._loop == loop.number:
        return loop
    made._loop = None
    return _Waits


class Policy(events.BaseDefaultEventLoopPolicy):
    """Makes loops for `asyncio.run` in sync functions."""

    _loop_factory = Loop


def install():
    """Make asyncio use these loops. Locks, queues and events of the script are for all of them: in the reference, handlers share a loop."""
    asyncio.set_event_loop_policy(Policy())
    asyncio.current_task = _current_task
    mixins._LoopBoundMixin.__new__, mixins._LoopBoundMixin._get_loop = _made, _loop_of
    asyncio.Lock.__reduce_ex__ = asyncio.Semaphore.__reduce_ex__ = asyncio.Condition.__reduce_ex__ = _copied


def warm():
    """Run a coroutine: what asyncio does once is done before the instance is cloned."""
    async def nothing():
        await asyncio.sleep(0)

    loop = Loop(driven=True)
    task = loop.create_task(nothing())
    loop.turn()
    task.result()
    loop.close()
