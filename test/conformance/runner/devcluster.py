"""The throw-away cluster that the cases run on, and what they need in it."""
import os
import signal
import subprocess
import threading
import time

import yaml

from . import api

START_TIMEOUT = 120  # seconds


class ClusterError(Exception):
    """The cluster cannot be used."""


class Devcluster:
    """A running `devcluster`, without controllers: the recordings were made without them too."""

    def __init__(self, program, folder):
        self.folder = folder
        command = [program, 'run', '--dir', folder, '--audit', '--no-fsync', '--controllers=false', '--until-stdin-closes']
        self.log = os.path.join(folder, 'devcluster.log')
        os.makedirs(folder, exist_ok=True)
        with open(self.log, 'ab') as log:
            # It ends with its standard input, that is, with the runner; in a session of its own, after the operators.
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                            text=True, start_new_session=True)
        self.kubeconfig = None

    def wait_ready(self):
        alarm = threading.Timer(START_TIMEOUT, self.process.kill)
        alarm.start()
        try:
            for line in self.process.stdout:
                if line.startswith('ready '):
                    self.kubeconfig = line.split(None, 1)[1].strip()
                    return self.kubeconfig
        finally:
            alarm.cancel()
        with open(self.log, errors='replace') as log:
            raise ClusterError('the cluster did not start:\n' + ''.join(log.readlines()[-20:]))

    def stop(self):
        if self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def define_base(client, manifest):
    """Create the definitions that all cases share, and wait until they are served."""
    with open(manifest) as f:
        crds = list(yaml.safe_load_all(f))
    for crd in crds:
        code, data, _ = client.call('POST', api.CRDS, crd)
        if code not in (201, 409):
            raise ClusterError(f'{crd["metadata"]["name"]}: {code} {data.get("message")}')
    end = time.monotonic() + 60
    while not all(client.served(crd) for crd in crds):
        if time.monotonic() > end:
            raise ClusterError('the common definitions are not served')
        time.sleep(0.1)
