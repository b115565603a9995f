#!/usr/bin/env python3
"""
Check an operator against the conformance cases, or record the cases with the reference.

    run.py check  [PREFIX...] --kopf BIN --guest MODULE     # or --operator-cmd COMMAND, or --suite NAME...
    run.py record [PREFIX...]                               # rewrites expected.json
    run.py list

README.md describes the cases and the environment of the tested programs.
"""
import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

import yaml

from runner import devcluster, differences, operators, runs
from runner.api import API
from runner.audit import Audit
from runner.pace import Pace, free_cores

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MAX_JOBS = 24  # so many pairs of users the cluster has
JOBS_PER_CORE = 12  # cases mostly wait: twenty-four use less than one core

KOPF_RUN = '{kopf} run {{args}} --config-file KOPF_CASE_JSON_TEXT={{case_json}} --config KOPF_CASE_OPERATOR={{operator}} {guest}'


def parse(argv):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('command', choices=['check', 'record', 'list'])
    p.add_argument('prefixes', nargs='*', metavar='PREFIX', help='beginnings of the names of cases; all by default')
    p.add_argument('--cases', default=os.path.join(HERE, 'cases'), help='the folder with the cases')
    p.add_argument('--area', action='append', default=[], help='only the cases of this area; can be repeated')
    p.add_argument('--finished', action='store_true', help='only what finished.txt lists')
    p.add_argument('--subset', metavar='FILE', help='only what this file lists, in the form of finished.txt: what a guest can do')
    p.add_argument('--kopf', default=os.path.join(ROOT, 'bin', 'kopf'), help='the tested program')
    p.add_argument('--guest', default=os.path.join(ROOT, '.cache', 'guests', 'conformance-go.wasm'), help='the module of the case interpreter')
    p.add_argument('--suite', metavar='NAME', action='append', default=[],
                   help='instead of --guest, --subset and --differences: the cases of a guest in suites.yaml; can be repeated, all share one cluster')
    p.add_argument('--operator-cmd', help="instead of both, e.g. 'PROGRAM {args}'; also {case_dir}, {case_json}, {operator}")
    p.add_argument('--cli-cmd', help='the program for freeze and resume; that of --kopf by default')
    p.add_argument('--reference', default='kopf', help='the reference, for recording')
    p.add_argument('--devcluster', default=os.path.join(ROOT, '.cache', 'bin', 'devcluster'), help='the program of the cluster')
    p.add_argument('--kubeconfig', help='of a running cluster, instead of starting one')
    p.add_argument('--audit-log', help='of that cluster; by default, audit.log in the folder of the kubeconfig')
    p.add_argument('--jobs', type=int, default=10, help='cases at once, if the cores are free; fewer if others use them')
    p.add_argument('--differences', metavar='FILE', action='append', default=[], help='what is expected in place of what was recorded')
    p.add_argument('--dump', help='the folder where to put the observations of the failed cases')
    p.add_argument('--keep', action='store_true', help='keep the logs of the operators even if all is well')
    p.add_argument('--kwargs', action='store_true', help="also compare the names of the reference's keyword arguments")
    p.add_argument('-v', '--verbose', action='store_true', help='all mismatches, not only the first ones')
    options = p.parse_intermixed_args(argv)
    if not 1 <= options.jobs <= MAX_JOBS:
        p.error(f'--jobs must be from 1 to {MAX_JOBS}')
    if options.command == 'record':
        interpreter = os.path.join(HERE, 'recorder', 'interp.py')
        options.operator_cmd = f'{shlex.quote(options.reference)} run {shlex.quote(interpreter)} {{args}}'
        options.cli_cmd = options.reference
    options.tested = options.operator_cmd is None
    options.cli_cmd = options.cli_cmd or shlex.quote(os.path.abspath(options.kopf))
    return options


def choose(options):
    """The wanted cases with what they test. A wish that no case fulfils is an error: a typo must not pass."""
    paths = runs.find(os.path.abspath(options.cases))
    if not paths:
        sys.exit(f'{options.cases}: there are no cases')
    for prefix in options.prefixes:
        if not runs.select(paths, [prefix]):
            sys.exit(f'{prefix}: no such case in {options.cases}')
    chosen = runs.select(paths, options.prefixes, options.area)
    if options.finished:
        chosen = runs.finished(chosen, os.path.join(HERE, 'finished.txt'))
    if options.suite:
        jobs = [job for name in options.suite for job in suite(options, name, chosen)]
    else:
        command = options.operator_cmd or kopf_run(options, options.guest)
        jobs = [runs.Job(runs.Subject('', command, differences.load(options.differences)), p) for p in limit(chosen, options.subset)]
    if options.command == 'check':
        unrecorded = [job.case for job in jobs if not os.path.exists(os.path.join(job.path, 'expected.json'))]
        if unrecorded:
            sys.exit(f"no expected.json in {', '.join(unrecorded)}: record them first")
    if not jobs:
        sys.exit('no cases are chosen')
    return jobs


def suite(options, name, paths):
    """The cases of a guest, as suites.yaml and the files beside the guest's source declare them."""
    with open(os.path.join(HERE, 'suites.yaml')) as f:
        declared = yaml.safe_load(f)
    if name not in declared:
        sys.exit(f"{name}: no such suite in suites.yaml: {', '.join(declared)}")
    module, areas = os.path.join(ROOT, declared[name]['module']), declared[name].get('areas')
    if not os.path.exists(module):
        sys.exit(f'{name}: {module} is not built')
    subset, own = (os.path.join(HERE, 'guests', name, file) for file in ('cases.txt', 'differences.yaml'))
    edits = differences.load([os.path.join(HERE, 'differences.yaml')] + [own] * os.path.exists(own))
    subject = runs.Subject(name, kopf_run(options, module), edits)
    chosen = limit(runs.select(paths, areas=areas or []), subset if os.path.exists(subset) else None)
    return [runs.Job(subject, path) for path in chosen]


def limit(paths, subset):
    """The cases that a file lists; all without a file."""
    return runs.finished(paths, subset) if subset else paths


def kopf_run(options, module):
    """The command that runs a guest."""
    return KOPF_RUN.format(kopf=shlex.quote(os.path.abspath(options.kopf)), guest=shlex.quote(os.path.abspath(module)))


def warm_up(options, jobs):
    """Fill the cache of compiled modules, so that the first cases are not slowed by it. Errors come back with the cases."""
    if options.tested:
        for module in sorted({shlex.split(job.subject.command)[-1] for job in jobs}):
            subprocess.run([options.kopf, 'inspect', module], capture_output=True, stdin=subprocess.DEVNULL, timeout=300)


def limit_jobs(options):
    """Run fewer cases at once on a machine that is busy already. This is decided once: what is overloaded later, fails."""
    free, cores = free_cores()
    options.jobs = max(1, min(options.jobs, round(JOBS_PER_CORE * free)))
    print(f'{options.jobs} cases at once: {free:.1f} of {cores} cores are free', flush=True)


def start_cluster(options, jobs, folder):
    """Start the cluster, unless there is one; returns what stops it."""
    if options.kubeconfig:
        warm_up(options, jobs)
        return lambda: None
    print('starting a cluster', flush=True)
    cluster = devcluster.Devcluster(options.devcluster, os.path.join(folder, 'cluster'))
    leave_nothing_running(cluster.stop)
    try:
        warm_up(options, jobs)  # while the cluster starts
        options.kubeconfig = cluster.wait_ready()
    except BaseException:
        cluster.stop()
        raise
    return cluster.stop


def leave_nothing_running(stop):
    """A runner that gets a signal to stop ends all processes that it has started."""
    def abort(sig, frame):
        operators.kill_all()
        stop()
        os._exit(128 + sig)
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(sig, abort)


def prepare(options, folder):
    """What the cases share, on a cluster that has what they need."""
    client, pace = API(options.kubeconfig), Pace()
    log = options.audit_log or os.path.join(os.path.dirname(os.path.abspath(options.kubeconfig)), 'audit.log')
    devcluster.define_base(client, os.path.join(HERE, 'crds', 'base.yaml'))
    return runs.Lab(options, client, Audit(log, pace), pace, folder)


def show_list(jobs):
    print('| case | area | docs | title |\n|---|---|---|---|')
    for job in jobs:
        case = runs.load(job.path)
        defect = f" **(defect: {case['defect']})**" if case.get('defect') else ''
        print(f"| {job.name} | {case['area']} | {', '.join(case['docs'])} | {case['title']}{defect} |")


def main(argv):
    options = parse(argv)
    jobs = choose(options)
    if options.command == 'list':
        show_list(jobs)
        return 0
    if options.command == 'record':
        version = subprocess.run([options.reference, '--version'], capture_output=True, text=True, check=True)
        options.reference_version = version.stdout.split()[-1]
    # The operators get other home folders; the compiled modules must survive them.
    os.environ.setdefault('XDG_CACHE_HOME', os.path.join(ROOT, '.cache', 'xdg'))
    folder = tempfile.mkdtemp(prefix='kopf-conformance-')
    passed, failed = 0, len(jobs)
    limit_jobs(options)
    try:
        stop = start_cluster(options, jobs, folder)
        try:
            lab = prepare(options, folder)
            passed, failed = (runs.check if options.command == 'check' else runs.record_all)(lab, jobs)
        finally:
            stop()
    except devcluster.ClusterError as e:
        print(e)
    if failed or options.keep:
        print(f'the logs of the operators are in {folder}')
    else:
        shutil.rmtree(folder, ignore_errors=True)
    print(f'{passed} passed, {failed} failed', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
