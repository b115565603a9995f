"""The processes of the operators under test."""
import json
import os
import shlex
import shutil
import signal
import subprocess
import threading

import yaml


# Ends an operator with its runner, even if the runner is killed; where the system has that.
LEASH = ['setpriv', '--pdeathsig', 'KILL'] if shutil.which('setpriv') else []

_running = set()  # process groups


def kill_all():
    """Kill whatever operators still run: only when the runner itself is stopped."""
    for group in list(_running):
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Operator:
    """One run of an operator. The lines of JSON that it prints are its calls; all else goes to its log."""

    def __init__(self, which, command, env, folder, on_call):
        self.which, self.on_call = which, on_call
        self.log = open(os.path.join(folder, f'{which}.log'), 'ab')
        self.process = subprocess.Popen(LEASH + command, env=env, cwd=folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=self.log, start_new_session=True)
        _running.add(self.process.pid)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self.stopped = False

    def _read(self):
        for line in self.process.stdout:
            try:
                record = json.loads(line)
            except ValueError:
                record = None
            if isinstance(record, dict):
                self.on_call(record)
            else:
                self.log.write(line)
                self.log.flush()

    def exited(self):
        return self.process.poll() is not None

    def stop(self, sig='TERM', timeout=25):
        """Stop the process; returns the exit code as the cases tell it, or None if it was stopped before."""
        if self.stopped:
            return None
        self.stopped = True
        if not self.exited():
            self.process.send_signal(getattr(signal, f'SIG{sig}'))
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = 'killed by the runner'
        _running.discard(self.process.pid)
        self.reader.join(3)
        return {'code': code} if self.which == 'main' else {'operator': self.which, 'code': code}


def command_line(template, fills, args):
    """The command with its placeholders filled; {args} are several words."""
    words = []
    for word in shlex.split(template):
        if word == '{args}':
            words += [str(a) for a in args]
            continue
        for name, value in fills.items():
            word = word.replace('{' + name + '}', value)
        words.append(word)
    return words


SERVERS = {
    'WebhookServer': 'server', 'WebhookK3dServer': 'k3d', 'WebhookMinikubeServer': 'minikube',
    'WebhookDockerDesktopServer': 'docker-desktop', 'WebhookAutoServer': 'auto-server',
}


def host_flags(settings):
    """The flags for what no guest may set: a server with its files, and the configurations that lead to it."""
    flags = []
    server = settings.get('admission.server')
    if server:
        options = {k: v for k, v in server.items() if k != 'server'}
        flags += ['--admission-server', json.dumps({'type': SERVERS[server['server']]} | options)]
    if settings.get('admission.managed'):
        flags += ['--admission-managed', settings['admission.managed']]
    return flags


def environment(kubeconfig, home, **extra):
    """
    The environment of a tested program: that of the runner, but without its own settings of operators,
    so that a case means the same for everybody.
    """
    env = {k: v for k, v in os.environ.items() if k != 'POD_ID' and not k.startswith('KOPF_RUN_')}
    return env | {'KUBECONFIG': kubeconfig, 'HOME': home, 'PYTHONUNBUFFERED': '1'} | extra


def write_kubeconfig(path, cluster, user):
    """A kubeconfig of one of the users which identify the requests in the audit log."""
    with open(path, 'w') as f:
        yaml.safe_dump({
            'apiVersion': 'v1', 'kind': 'Config', 'current-context': 'x',
            'clusters': [{'name': 'c', 'cluster': cluster}],
            'users': [{'name': 'u', 'user': {'token': user.replace('operator', 'operatortoken')}}],
            'contexts': [{'name': 'x', 'context': {'cluster': 'c', 'user': 'u', 'namespace': 'default'}}]}, f)
    return path
