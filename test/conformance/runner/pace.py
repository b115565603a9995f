"""
A clock that slows down while the machine is overloaded.

A case is quiet if an operator has done nothing for some time. On an overloaded machine,
nothing may also mean that the operator had no chance to do it; so such time counts less.
It is slowed by a quarter at most: the delays inside of the cases are those of the real time.
"""
import hashlib
import os
import threading
import time

STEP = 0.025    # how often the load is looked at, in seconds
CROWD = 3       # runnable threads per core from which on the machine is overloaded
SLOWEST = 0.75  # of the real time: the waits of a case must stay shorter than the delays in it
WINDOW = 20     # looks that the load is averaged over


class Pace:
    def __init__(self):
        self.now = 0.0       # the slowed time, in seconds since the start
        self.slowed = 0.0    # how much the clock is behind the real time, in seconds
        self.cores = cores()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        last, looks = time.monotonic(), []
        while True:
            time.sleep(STEP)
            looks = looks[-WINDOW:] + [runnable()]
            passed, last = time.monotonic() - last, time.monotonic()
            # A step that took too long means that even this thread was not served.
            passed, stall = min(passed, 4 * STEP), max(0.0, passed - 4 * STEP)
            crowd = sum(looks) / len(looks) / self.cores
            rate = max(SLOWEST, min(1.0, CROWD / crowd)) if crowd else 1.0
            self.now += passed * rate + stall * SLOWEST
            self.slowed += passed * (1 - rate) + stall * (1 - SLOWEST)


def cores():
    return len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1


def runnable():
    """The threads that run or want to; 0 if the system does not tell."""
    try:
        with open('/proc/stat') as f:
            return next(int(line.split()[1]) for line in f if line.startswith('procs_running'))
    except (OSError, StopIteration):
        return 0


def free_cores(seconds=1.0):
    """How many cores this process gets, and how many there are: a thread for each one computes for a while."""
    begin, used = time.monotonic(), time.process_time()

    def compute():
        data = bytes(1 << 20)
        while time.monotonic() - begin < seconds:
            hashlib.blake2b(data)  # lets other threads compute

    threads = [threading.Thread(target=compute) for _ in range(cores())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (time.process_time() - used) / (time.monotonic() - begin), cores()
