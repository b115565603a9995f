"""What a case does with the cluster and with its operators, step by step."""
import contextlib
import copy
import http.client
import json
import os
import shlex
import ssl
import subprocess
import time
import urllib.parse

from . import api, observations, operators
from .waits import StepError

UNCHANGING = ('start', 'stop', 'wait', 'sleep', 'http', 'review')  # no need to wait for the operator to settle
FINALIZERS_OFF = {'metadata': {'finalizers': None}}
MERGE_PATCH = 'application/merge-patch+json'


class Steps:
    """Performs the steps of one running case. The name of a method is the key of its step."""

    NAMES = ('start', 'stop', 'restart', 'create', 'patch', 'delete', 'unblock', 'get', 'wait', 'sleep',
             'crd', 'uncrd', 'http', 'review', 'cli')

    def __init__(self, case):
        self.case = case

    def perform(self, step):
        name = next((n for n in self.NAMES if n in step), None)
        if name is None:
            raise StepError(f'unknown step: {step}')
        try:
            getattr(self, name)(step)
        except OSError as e:  # no server of the operator, or it hangs up
            raise StepError(str(e)) from e
        if name not in UNCHANGING and not step.get('nowait') and self.case.operators:
            self.case.waits.quiet(step.get('quiet', self.case.spec.get('quiet', 0.7)))

    def _outcome(self, step, response):
        """Keep the response if it has a name; otherwise it must be a success."""
        code, data, warnings = response
        if 'as' not in step:
            if code not in (200, 201, 202):
                raise StepError(f'unexpected response: {code} {data.get("message")}')
            return
        kept = {'code': code} | ({'warnings': warnings} if warnings else {})
        if code >= 400:
            kept |= {'message': data.get('message')}
        else:
            meta = data.get('metadata', {})
            kept |= {k: data[k] for k in ('spec', 'status', 'data') if k in data}
            kept |= {k: meta[k] for k in ('labels', 'annotations') if k in meta}
        self.case.results[step['as']] = kept

    # --- operators ---
    def start(self, step):
        self.case.start(step['start'] or 'main', step)

    def stop(self, step):
        self.case.stop(step['stop'] or 'main', step.get('signal', 'TERM'))

    def restart(self, step):
        self.case.stop(step['restart'] or 'main')
        self.case.start(step['restart'] or 'main', step)

    def cli(self, step):
        case = self.case
        kubeconfig = operators.write_kubeconfig(os.path.join(case.folder, 'cli.kubeconfig'), case.api.cluster, case.users['b'])
        command = shlex.split(case.options.cli_cmd) + [str(a) for a in step['cli']]
        with open(os.path.join(case.folder, 'cli.log'), 'ab') as log:
            code = subprocess.run(command, env=operators.environment(kubeconfig, case.folder), stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log, timeout=90).returncode
        if 'as' in step:
            case.results[step['as']] = {'exit': code}

    # --- objects ---
    def create(self, step):
        manifest = copy.deepcopy(step['create'])
        ref = manifest.pop('ref')
        at = self.case.locate(ref)
        meta = manifest.pop('metadata', {})
        meta |= {k: manifest.pop(k) for k in ('labels', 'annotations', 'finalizers') if k in manifest}
        body = {'apiVersion': at.api_version, 'kind': manifest.pop('kind', at.kind)} | manifest
        body['metadata'] = meta | {'name': at.name}
        self._outcome(step, self.case.api.call('POST', at.url + step.get('query', ''), body))
        if not step.get('hidden') and ref not in self.case.refs:
            self.case.refs.append(ref)

    def patch(self, step):
        at = self.case.locate(step['patch'])
        sub = f'/{step["subresource"]}' if 'subresource' in step else ''
        ctype = f'application/{step.get("type", "merge")}-patch+json'
        url = f'{at.url}/{at.name}{sub}{step.get("query", "")}'
        self._outcome(step, self.case.api.call('PATCH', url, step['with'], ctype))

    def delete(self, step):
        at = self.case.locate(step['delete'])
        self._outcome(step, self.case.api.call('DELETE', f'{at.url}/{at.name}{step.get("query", "")}'))

    def unblock(self, step):
        at = self.case.locate(step['unblock'])
        self.case.api.call('PATCH', f'{at.url}/{at.name}', FINALIZERS_OFF, MERGE_PATCH)

    def get(self, step):
        obj = self.case.get(step['get'])
        self.case.results[step['as']] = obj if step.get('raw') else observations.reduce_object(obj)

    # --- definitions ---
    def crd(self, step):
        self.case.define(step['crd'])

    def uncrd(self, step):
        url = f'{api.CRDS}/{step["uncrd"]}'
        self.case.api.call('DELETE', url)
        self.case.waits.until(lambda: self.case.api.get(url) is None, 15, 'the CRD to be gone')

    # --- time ---
    def wait(self, step):
        self.case.waits.perform(step['wait'])

    def sleep(self, step):
        time.sleep(step['sleep'])

    # --- servers of the operators ---
    def http(self, step):
        url = urllib.parse.urlsplit(step['http'])
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
        connection.request(step.get('method', 'GET'), url.path)
        response = connection.getresponse()
        text, ctype = response.read().decode(), response.headers.get('Content-Type')
        connection.close()
        self.case.results[step['as']] = {'code': response.status, 'content_type': ctype,
                                         'body': json.loads(text) if 'json' in (ctype or '') else text}

    def review(self, step):
        connection = http.client.HTTPSConnection('127.0.0.1', self.case.ports[0], timeout=60,
                                                 context=ssl._create_unverified_context())
        with contextlib.closing(connection):
            code, data, _ = api.request(connection, 'POST', step.get('path', '/'), step['review'])
        self.case.results[step['as']] = {'code': code, 'body': data}
