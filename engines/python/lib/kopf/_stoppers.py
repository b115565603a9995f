"""The argument `stopped` of daemons and timers."""

import asyncio
import enum
import time

from kopf import _host

_FIRST_PAUSE, _LAST_PAUSE = 0.05, 0.25  # seconds between two looks of a function that blocks


class DaemonStoppingReason(enum.Flag):
    """Why a daemon is to stop, as bits of the host."""

    DONE = enum.auto()
    FILTERS_MISMATCH = enum.auto()
    RESOURCE_DELETED = enum.auto()
    OPERATOR_PAUSING = enum.auto()
    OPERATOR_EXITING = enum.auto()
    DAEMON_SIGNALLED = enum.auto()
    DAEMON_CANCELLED = enum.auto()
    DAEMON_ABANDONED = enum.auto()


_ALL = sum(reason.value for reason in DaemonStoppingReason)


class DaemonStopped:
    """Whether the daemon is to stop. It is true or false, and `wait` waits until it is true."""

    def __init__(self, task):
        self._task = task

    def __bool__(self):
        return bool(_host.stopped(self._task.number))

    def is_set(self):
        return bool(self)

    @property
    def reason(self):
        """The reasons to stop; None if there are none."""
        bits = _host.stopped(self._task.number) & _ALL
        return DaemonStoppingReason(bits) if bits else None

    def __repr__(self):
        return f"<{type(self).__name__}: {bool(self)}, reason={self.reason}>"

    def wait(self, timeout=None):
        raise NotImplementedError

    def __await__(self):
        raise NotImplementedError("Daemon stoppers should not be awaited directly. Use `await stopped.wait()`.")


class SyncDaemonStopperChecker(DaemonStopped):
    """The flag for sync functions. The whole instance waits."""

    def wait(self, timeout=None):
        """Wait until the daemon is to stop, or for the seconds. Return the flag."""
        end = None if timeout is None else time.monotonic() + timeout
        pause = _FIRST_PAUSE
        while not self:
            left = pause if end is None else min(pause, end - time.monotonic())
            if left <= 0:
                break
            time.sleep(left)
            pause = min(2 * pause, _LAST_PAUSE)
        return self


class AsyncDaemonStopperChecker(DaemonStopped):
    """The flag for async functions."""

    def wait(self, timeout=None):
        """Return what waits until the daemon is to stop, or for the seconds: `await` it."""
        return AsyncDaemonStopperPromise(self, timeout)


class AsyncDaemonStopperPromise(DaemonStopped):
    """A wait for the flag: true or false as the flag, and awaitable once."""

    def __init__(self, checker, timeout):
        super().__init__(checker._task)
        self._checker, self._timeout = checker, timeout

    def __await__(self):
        return self._wait().__await__()

    async def _wait(self):
        if not self:
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            loop.stops.add(future)
            try:
                async with asyncio.timeout(self._timeout):
                    await future
            except TimeoutError:
                pass
            finally:
                loop.stops.discard(future)
        return self._checker
