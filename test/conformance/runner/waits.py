"""When something that a case waits for is reached, or when an operator is quiet."""
import time

from .audit import is_write, resource_of

# Failures may take longer on a slow machine; successes do not depend on it.
PATIENCE = 2

COUNTED = ('handler', 'mark', 'index', 'callback')


class StepError(Exception):
    """A step that could not be performed; the case fails with it."""


class Waits:
    """The waits of one running case."""

    def __init__(self, case):
        self.case = case

    def until(self, reached, timeout, what, operated=False):
        """Wait for a truth; returns it. What is operated cannot come true when no operator is left."""
        end = time.monotonic() + timeout * PATIENCE
        while True:
            value = reached()
            if value:
                return value
            if time.monotonic() > end:
                raise StepError(f'timed out waiting for {what}')
            if operated and all(op.exited() for op in self.case.operators.values()):
                end = min(end, time.monotonic() + 1)  # the last lines and records may be on their way
            time.sleep(0.04)

    def quiet(self, seconds, timeout=20, reads=False):
        """
        Wait until the operators have made no call and no write (with reads: no request at all) for
        so many seconds. Operators that never rest end the wait with the timeout, which is no error.
        """
        pace = self.case.pace
        begin, end = pace.now, time.monotonic() + timeout
        while time.monotonic() < end:
            if pace.now - max(begin, self._last_activity(reads)) >= seconds:
                return
            time.sleep(0.04)

    def _last_activity(self, reads):
        return max([self.case.touched] + [r['_at'] for r in self.case.requests() if reads or is_write(r)])

    def perform(self, wait):
        """The wait of a case: all of its conditions, one after another."""
        timeout = wait.get('timeout', 15)
        if 'quiet' in wait:
            self.quiet(wait['quiet'], timeout)
        for handler, n in wait.get('calls', {}).items():
            self.until(lambda: self._count(handler) >= n, timeout, f'{n} calls of {handler}', operated=True)
        if 'gone' in wait:
            self.until(lambda: self.case.get(wait['gone']) is None, timeout, f'{wait["gone"]} to be gone')
        if 'present' in wait:
            self.until(lambda: self.case.get(wait['present']), timeout, f'{wait["present"]} to be present')
        if 'field' in wait:
            self.until(lambda: self._field_reached(wait), timeout, f'field {wait["field"]}')
        if 'exit' in wait:
            which = wait['exit'] if isinstance(wait['exit'], str) else 'main'
            self.until(self.case.operators[which].exited, timeout, 'exit')
            self.case.stop(which)
        if 'writes' in wait:
            resource, n = wait['writes']
            self.until(lambda: self._writes(resource) >= n, timeout, f'writes {wait["writes"]}', operated=True)

    def _count(self, handler):
        return sum(1 for call in self.case.calls if handler in [call.get(k) for k in COUNTED])

    def _writes(self, resource):
        return sum(1 for r in self.case.requests() if is_write(r) and resource_of(r) == resource)

    def _field_reached(self, wait):
        value = self.case.get(wait['of'])
        for part in wait['field']:
            value = (value or {}).get(part)
        if 'is' in wait:
            return value == wait['is']
        return (value is not None) == bool(wait.get('exists', True))
