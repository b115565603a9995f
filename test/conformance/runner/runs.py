"""Many cases in parallel, and the report."""
import collections
import concurrent.futures
import glob
import json
import os
import queue
import subprocess
import threading
import time
import traceback

from . import differences, record
from .cases import Case, load
from .compare import compare_all

OVERLOADED = 0.1  # the share of a case's time that the pace was slowed by
SHOWN = 4         # mismatches per case, unless verbose

Result = collections.namedtuple('Result', 'job problems run')
Run = collections.namedtuple('Run', 'got seconds overloaded log')

# What is tested: its name (empty if it is the only one), the command of its operators, and what is expected
# of it in place of what was recorded, by the names of cases.
Subject = collections.namedtuple('Subject', 'name command differences')


class Job(collections.namedtuple('Job', 'subject path')):
    """One case of one subject."""

    @property
    def case(self):
        return os.path.basename(self.path)

    @property
    def name(self):
        return f'{self.subject.name}/{self.case}' if self.subject.name else self.case


class Lab:
    """What all cases of a run share: the cluster, the folder for their files, the keys of servers."""

    def __init__(self, options, api, audit, pace, folder):
        self.options, self.api, self.audit, self.pace, self.folder = options, api, audit, pace, folder
        self.running = collections.defaultdict(threading.Lock)  # by cases: some have objects of the whole cluster
        self.slots = queue.Queue()
        for n in range(options.jobs):
            self.slots.put(n)
        self._keys, self._lock = None, threading.Lock()

    def keys(self):
        """The files of a certificate and a key for 127.0.0.1; made when the first case needs them."""
        with self._lock:
            if self._keys is None:
                self._keys = make_keys(self.folder)
            return self._keys

    def execute(self, job):
        """Run one case on a free slot, and no case of two subjects at once."""
        with self.running[job.path]:
            slot = self.slots.get()
            begin, slowed = time.monotonic(), self.pace.slowed
            try:
                case = Case(job, slot, self)
                got = case.run()
                seconds = time.monotonic() - begin
                overloaded = self.pace.slowed - slowed > OVERLOADED * seconds
                return Run(got, seconds, overloaded, os.path.join(case.folder, 'main.log'))
            finally:
                self.slots.put(slot)


def make_keys(folder):
    cert, key = os.path.join(folder, 'tls.crt'), os.path.join(folder, 'tls.key')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '30', '-subj', '/CN=127.0.0.1',
                    '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost', '-keyout', key, '-out', cert],
                   check=True, capture_output=True)
    return cert, key


# --- which cases ---

def find(folder):
    """All cases in a folder, at any depth."""
    return [os.path.dirname(p) for p in sorted(glob.glob(os.path.join(folder, '**', 'case.yaml'), recursive=True))]


def select(paths, prefixes=(), areas=()):
    """The cases whose names begin with one of the prefixes, in one of the areas. No criteria: all."""
    if prefixes:
        paths = [p for p in paths if os.path.basename(p).startswith(tuple(prefixes))]
    if areas:
        paths = [p for p in paths if load(p).get('area') in areas]
    return paths


def finished(paths, listing):
    """The cases listed as finished: a line is an area, or a prefix of names that begins with a digit."""
    with open(listing) as f:
        words = [w for w in (line.split('#')[0].strip() for line in f) if w]
    areas = {w for w in words if not w[0].isdigit()}
    prefixes = tuple(w for w in words if w[0].isdigit())
    return [p for p in paths if os.path.basename(p).startswith(prefixes or ('/',)) or load(p).get('area') in areas]


# --- checking ---

def check_one(lab, job):
    with open(os.path.join(job.path, 'expected.json')) as f:
        expected = json.load(f)
    run = lab.execute(job)
    differences.apply(job.subject.differences.get(job.case, []), expected, run.got)
    if not lab.options.kwargs:
        for call in expected['calls'] + run.got['calls']:
            call.pop('kwargs', None)
    problems = [f'ERROR {run.got["error"]}'] if run.got.get('error') else []
    return Result(job, problems + compare_all(expected, run.got), run)


def check(lab, jobs):
    """
    Check the cases, each once; returns how many have passed and how many have failed. Defects of the reference never fail.
    """
    verdicts = [report(lab, result) for result in run_all(lab, jobs, check_one)]
    return verdicts.count('ok'), verdicts.count('FAIL')


def report(lab, result):
    """Print the outcome of a case; returns ok, FAIL or DIFF."""
    name, defect = result.job.name, load(result.job.path).get('defect')
    verdict = 'ok' if not result.problems else 'DIFF' if defect else 'FAIL'
    note = f' (differs from a defect of the reference: {defect}; does not count)' if verdict == 'DIFF' else ''
    note += ' (the machine was overloaded)' if verdict == 'FAIL' and result.run.overloaded else ''
    print(f'{verdict:4} {name} ({result.run.seconds:.1f}s){note}')
    shown = result.problems if lab.options.verbose else result.problems[:SHOWN]
    for problem in shown:
        print(f'      {problem}')
    if len(result.problems) > len(shown):
        print(f'      … and {len(result.problems) - len(shown)} more')
    if result.problems:
        print(f'      {result.run.log}: {last_line(result.run.log)}')
    if result.problems and lab.options.dump:
        file = os.path.join(lab.options.dump, f'{name}.json')
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, 'w') as f:
            json.dump(result.run.got, f, indent=1, sort_keys=True)
    print(end='', flush=True)
    return verdict


def last_line(log):
    """The last line of an operator's log: often the reason of everything."""
    try:
        with open(log, errors='replace') as f:
            return (f.read().splitlines() or ['(empty)'])[-1][:300]
    except OSError:
        return '(none)'


# --- recording ---

def record_one(lab, job):
    both = []
    for _ in range(2):
        run = lab.execute(job)
        if run.got.get('error'):
            return Result(job, [f'ERROR {run.got["error"]}'], run)
        both.append(run.got)
    expected, notes = record.merge(load(job.path), *both, lab.options.reference_version)
    record.save(job.path, expected)
    return Result(job, notes, run)


def record_all(lab, jobs):
    """Record the cases; returns how many could be performed and how many could not. Notes are no failures."""
    passed = failed = 0
    for result in run_all(lab, jobs, record_one):
        bad = any(p.startswith('ERROR') for p in result.problems)
        passed, failed = passed + (not bad), failed + bad
        print(f'{"FAIL" if bad else "ok":4} {result.job.name} ({result.run.seconds:.1f}s)')
        print(''.join(f'      {p}\n' for p in result.problems), end='', flush=True)
    return passed, failed


def run_all(lab, jobs, one):
    """The results as they come; the cases that must be alone are last, one by one."""
    alone = [job for job in jobs if load(job.path).get('exclusive')]
    with concurrent.futures.ThreadPoolExecutor(lab.options.jobs) as pool:
        futures = [pool.submit(attempt, one, lab, job) for job in jobs if job not in alone]
        for future in concurrent.futures.as_completed(futures):
            yield future.result()
    for job in alone:
        yield attempt(one, lab, job)


def attempt(one, lab, job):
    """Run one case; a case that cannot even be read is a failure of it alone."""
    try:
        return one(lab, job)
    except Exception:
        return Result(job, [f'ERROR {traceback.format_exc()}'], Run(None, 0.0, False, os.devnull))
