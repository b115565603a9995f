"""What the operators requested from the API server, as its audit log tells."""
import collections
import json
import os
import threading
import time

WRITES = ('create', 'update', 'patch', 'delete')


class Audit:
    """Follows the audit log; the records are kept by the name of the user."""

    def __init__(self, path, pace):
        self.path, self.pace = path, pace
        self.records = collections.defaultdict(list)
        self.position = os.path.getsize(path)
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self):
        with open(self.path, 'rb') as f:
            f.seek(self.position)
            rest = b''
            while True:
                chunk = f.read(1 << 20)
                if not chunk:
                    time.sleep(0.03)
                    continue
                *lines, rest = (rest + chunk).split(b'\n')
                for line in lines:
                    self._take(line)
                self.position = f.tell()

    def _take(self, line):
        try:
            record = json.loads(line)
        except ValueError:
            return
        record['_at'] = self.pace.now
        self.records[record['user']['username']].append(record)

    def catch_up(self, timeout=10):
        """Wait until everything that is in the log by now has been read."""
        size, end = os.path.getsize(self.path), time.monotonic() + timeout
        while self.position < size and time.monotonic() < end:
            time.sleep(0.02)


def is_write(record):
    return record['verb'] in WRITES


def resource_of(record):
    return (record.get('objectRef') or {}).get('resource')
