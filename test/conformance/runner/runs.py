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

import yaml

from . import differences, record
from .cases import Case
from .compare import compare_all

OVERLOADED = 0.1  # the share of a case's time that the pace was slowed by
SHOWN = 4         # mismatches per case, unless verbose

Result = collections.namedtuple('Result', 'path problems run')
Run = collections.namedtuple('Run', 'got seconds overloaded log')


class Lab:
    """What all cases of a run share: the cluster, the folder for their files, the keys of servers."""

    def __init__(self, options, api, audit, pace, folder, declared=None):
        self.options, self.api, self.audit, self.pace, self.folder = options, api, audit, pace, folder
        self.declared = declared or {}  # differences, by the names of the cases
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

    def execute(self, path):
        """Run one case on a free slot."""
        slot = self.slots.get()
        begin, slowed = time.monotonic(), self.pace.slowed
        try:
            case = Case(path, slot, self)
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

def load(path):
    with open(os.path.join(path, 'case.yaml')) as f:
        return yaml.safe_load(f)


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

def check_one(lab, path):
    with open(os.path.join(path, 'expected.json')) as f:
        expected = json.load(f)
    run = lab.execute(path)
    differences.apply(lab.declared.get(os.path.basename(path), []), expected, run.got)
    if not lab.options.kwargs:
        for call in expected['calls'] + run.got['calls']:
            call.pop('kwargs', None)
    problems = [f'ERROR {run.got["error"]}'] if run.got.get('error') else []
    return Result(path, problems + compare_all(expected, run.got), run)


def check(lab, paths):
    """
    Check the cases, each once; returns how many have passed and how many have failed. Defects of the reference never fail.
    """
    verdicts = [report(lab, result) for result in run_all(lab, paths, check_one)]
    return verdicts.count('ok'), verdicts.count('FAIL')


def report(lab, result):
    """Print the outcome of a case; returns ok, FAIL or DIFF."""
    name, defect = os.path.basename(result.path), load(result.path).get('defect')
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
        os.makedirs(lab.options.dump, exist_ok=True)
        with open(os.path.join(lab.options.dump, f'{name}.json'), 'w') as f:
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

def record_one(lab, path):
    both = []
    for _ in range(2):
        run = lab.execute(path)
        if run.got.get('error'):
            return Result(path, [f'ERROR {run.got["error"]}'], run)
        both.append(run.got)
    expected, notes = record.merge(load(path), *both, lab.options.reference_version)
    record.save(path, expected)
    return Result(path, notes, run)


def record_all(lab, paths):
    """Record the cases; returns how many could be performed and how many could not. Notes are no failures."""
    passed = failed = 0
    for result in run_all(lab, paths, record_one):
        bad = any(p.startswith('ERROR') for p in result.problems)
        passed, failed = passed + (not bad), failed + bad
        print(f'{"FAIL" if bad else "ok":4} {os.path.basename(result.path)} ({result.run.seconds:.1f}s)')
        print(''.join(f'      {p}\n' for p in result.problems), end='', flush=True)
    return passed, failed


def run_all(lab, paths, one):
    """The results as they come; the cases that must be alone are last, one by one."""
    alone = [p for p in paths if load(p).get('exclusive')]
    with concurrent.futures.ThreadPoolExecutor(lab.options.jobs) as pool:
        futures = [pool.submit(attempt, one, lab, p) for p in paths if p not in alone]
        for future in concurrent.futures.as_completed(futures):
            yield future.result()
    for path in alone:
        yield attempt(one, lab, path)


def attempt(one, lab, path):
    """Run one case; a case that cannot even be read is a failure of it alone."""
    try:
        return one(lab, path)
    except Exception:
        return Result(path, [f'ERROR {traceback.format_exc()}'], Run(None, 0.0, False, os.devnull))
