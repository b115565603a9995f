"""The life of one case: its namespace, its operators, its steps, and what is observed in the end."""
import functools
import json
import os
import random
import socket
import string
import threading
import time
import traceback

import yaml

from . import api, observations, operators, resources
from .audit import resource_of
from .normal import Normaliser
from .steps import FINALIZERS_OFF, MERGE_PATCH, Steps
from .waits import StepError, Waits

PORTS = range(20000, 30000)  # below those that systems give to clients, so that they stay free until they are used

LOADER = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)  # in C, where PyYAML has it: ten times as fast


@functools.cache
def load(path):
    """The description of a case, in which the placeholders are not filled in. All callers get the same one."""
    with open(os.path.join(path, 'case.yaml')) as f:
        return yaml.load(f, Loader=LOADER)


class Case:
    """
    One run of a case. Each has a namespace, two ports and a folder of its own; and a slot:
    a pair of API users, which identify its requests in the audit log.
    """

    def __init__(self, job, slot, lab):
        self.path, self.lab, self.options = job.path, lab, lab.options
        self.api, self.audit, self.pace = lab.api, lab.audit, lab.pace
        self.name, self.command = job.case, job.subject.command
        self.ns = f"c{self.name.split('-')[0]}-{''.join(random.choices(string.ascii_lowercase, k=5))}"
        self.folder = os.path.join(lab.folder, self.ns)
        os.makedirs(self.folder)
        self.users = {'main': f'operator{slot}a', 'b': f'operator{slot}b'}
        self.seen = {user: len(self.audit.records[user]) for user in self.users.values()}
        self.ports = [free_port(), free_port()]
        self.calls, self.exits, self.results, self.operators = [], [], {}, {}
        self.refs, self.crds = [], []
        self.touched = self.pace.now
        self.waits, self.steps = Waits(self), Steps(self)
        self.spec = self.resolve(load(self.path))
        self.json = os.path.join(self.folder, 'case.json')
        with open(self.json, 'w') as f:
            json.dump(self.spec, f)

    def resolve(self, x):
        """Fill the placeholders in; a text that is nothing but a placeholder gets the type of the value."""
        if isinstance(x, dict):
            return {self.resolve(k): self.resolve(v) for k, v in x.items()}
        if isinstance(x, list):
            return [self.resolve(v) for v in x]
        if not isinstance(x, str) or '{' not in x:
            return x
        for name, value in (('{ns}', self.ns), ('{port}', self.ports[0]), ('{port2}', self.ports[1]),
                            ('{server}', self.api.server)):
            if x == name:
                return value
            x = x.replace(name, str(value))
        for i, name in enumerate(('{cert}', '{key}')):
            if name in x:  # making keys takes time, and few cases need them
                x = x.replace(name, self.lab.keys()[i])
        return x

    # --- objects ---
    def locate(self, ref):
        return resources.locate(ref, self.ns)

    def get(self, ref):
        at = self.locate(ref)
        return self.api.get(f'{at.url}/{at.name}')

    def define(self, short):
        """Create or change a CRD by its short description, and wait until it is served."""
        crd = resources.describe_crd(short, f'{self.ns}.example.com')
        name = crd['metadata']['name']
        code, data, _ = self.api.call('POST', api.CRDS, crd)
        if code == 409:
            versions = {'spec': {'versions': crd['spec']['versions']}}
            code, data, _ = self.api.call('PATCH', f'{api.CRDS}/{name}', versions, MERGE_PATCH)
        if code not in (200, 201):
            raise StepError(f'CRD: {code} {data.get("message")}')
        if name not in self.crds:
            self.crds.append(name)
        self.waits.until(lambda: self.api.served(crd), 15, f'{name} to be served')

    # --- operators ---
    def requests(self, which=None):
        """The requests of the operators (or of one of them) since the start of the case."""
        return [r for w, user in self.users.items() if which in (None, w)
                for r in self.audit.records[user][self.seen[user]:]]

    def take_call(self, record):
        self.calls.append(record)
        self.touched = self.pace.now

    def start(self, which='main', step=None):
        section = self.spec['operator'] if which == 'main' else self.spec['operators'][which]
        user = which if which == 'main' else 'b'
        kubeconfig = operators.write_kubeconfig(os.path.join(self.folder, f'{which}.kubeconfig'), self.api.cluster, self.users[user])
        args = section.get('args', ['--standalone', '-n', self.ns])
        if self.options.tested:
            args = args + operators.host_flags(section.get('settings', {}))
        command = operators.command_line(
            self.command, {'case_dir': self.path, 'case_json': self.json, 'operator': which}, args)
        env = operators.environment(kubeconfig, self.folder, KOPF_CASE_JSON=self.json, KOPF_CASE_OPERATOR=which)
        env |= {k: str(v) for k, v in section.get('env', {}).items()}
        before = len(self.requests(user))
        op = operators.Operator(which, command, env, self.folder, self.take_call)
        self.operators[which] = op
        self._await_start((step or {}).get('ready', section.get('ready', 'watch')), op, user, before)

    def _await_start(self, ready, op, user, before):
        if ready == 'watch':
            def watching():
                return op.exited() or any(r['verb'] == 'watch' and resource_of(r) not in resources.META
                                          for r in self.requests(user)[before:])
            self.waits.until(watching, 15, 'the operator to start watching')
            self.waits.quiet(0.5, 10, reads=True)
        elif ready == 'quiet':
            end = time.monotonic() + 10
            while not op.exited() and len(self.requests()) <= before and time.monotonic() < end:
                time.sleep(0.04)
            self.waits.quiet(1.0, 10, reads=True)
        elif isinstance(ready, dict):
            self.waits.perform(ready)

    def stop(self, which='main', sig='TERM'):
        outcome = self.operators[which].stop(sig)
        if outcome:
            self.exits.append(outcome)

    # --- the whole ---
    def run(self):
        """Perform the case; returns the normalised observations, with `error` if it could not be performed."""
        error, final = None, {}
        try:
            self._perform()
        except StepError as e:
            error = str(e)
        except Exception:  # whatever a tested program makes happen is a failure of its case alone
            error = traceback.format_exc()
        finally:
            try:
                final = {ref: observations.reduce_object(self.get(ref)) for ref in self.spec.get('final', self.refs)}
            finally:
                self._finish()
        out = Normaliser(self.ns, self.ports, self.folder, self.users).apply(observations.collect(self, final))
        return out | ({'error': error} if error else {})

    def _perform(self):
        code, data, _ = self.api.call('POST', '/api/v1/namespaces', {'metadata': {'name': self.ns}})
        if code != 201:
            raise StepError(f'namespace: {code} {data.get("message")}')
        for crd in self.spec.get('crds', []):
            self.define(crd)
        steps = self.spec['steps']
        if not any('start' in step for step in steps):
            steps = [{'start': 'main'}] + steps
        for i, step in enumerate(steps):
            try:
                self.steps.perform(step)
            except StepError as e:
                raise StepError(f'step {i} {list(step)[0]}: {e}') from None
        self.waits.quiet(self.spec.get('settle', 0.8), 10)

    def _finish(self):
        for which in self.operators:
            self.stop(which)
        time.sleep(0.3)  # requests of a killed operator may still be on their way
        self.audit.catch_up()
        for name in self.crds:
            self.api.call('DELETE', f'{api.CRDS}/{name}')
        for ref in self.spec.get('cleanup', []):
            at = self.locate(ref)
            self.api.call('DELETE', f'{at.url}/{at.name}')
            self.api.call('PATCH', f'{at.url}/{at.name}', FINALIZERS_OFF, MERGE_PATCH)


_taken, _lock = set(), threading.Lock()


def free_port():
    """A port that is free, and that no other case of this run was given."""
    for port in random.sample(PORTS, len(PORTS)):
        with _lock, socket.socket() as s:
            if port in _taken:
                continue
            try:
                s.bind(('127.0.0.1', port))
            except OSError:
                continue
            _taken.add(port)
            return port
    raise OSError('no free ports')
