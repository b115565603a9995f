"""A small client of the API server. Only the standard library and PyYAML are used."""
import base64
import collections
import http.client
import json
import os
import ssl
import tempfile
import threading
import urllib.parse

import yaml

CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

Response = collections.namedtuple('Response', 'code data warnings')


def request(connection, method, path, body=None, headers=None):
    """One request of JSON; other answers come as {'text': ...}. The connection can be used again, unless it fails."""
    try:
        connection.request(method, path, None if body is None else json.dumps(body),
                           {'Accept': 'application/json', 'Content-Type': 'application/json'} | (headers or {}))
        response = connection.getresponse()
        text = response.read().decode()
    except BaseException:
        connection.close()
        raise
    try:
        data = json.loads(text)
    except ValueError:
        data = {'text': text}
    return Response(response.status, data, response.headers.get_all('Warning') or [])


class API:
    """The API server with the rights of a kubeconfig's current user."""

    def __init__(self, kubeconfig):
        self.own = threading.local()  # each thread has a connection: a handshake costs more than most requests
        with open(kubeconfig) as f:
            config = yaml.safe_load(f)
        # Handed on to the operators; so relative paths must not stay relative.
        self.cluster = dict(config['clusters'][0]['cluster'])
        folder = os.path.dirname(os.path.abspath(kubeconfig))
        if 'certificate-authority' in self.cluster:
            self.cluster['certificate-authority'] = os.path.join(folder, self.cluster['certificate-authority'])
        self.server = self.cluster['server']
        self.address = urllib.parse.urlsplit(self.server)
        user = config['users'][0]['user']
        self.headers = {'Authorization': f'Bearer {user["token"]}'} if 'token' in user else {}
        self.context = self._trust()
        self._identify(user, folder)

    def _trust(self):
        if self.cluster.get('insecure-skip-tls-verify'):
            return ssl._create_unverified_context()
        encoded = self.cluster.get('certificate-authority-data')
        return ssl.create_default_context(
            cafile=self.cluster.get('certificate-authority'),
            cadata=base64.b64decode(encoded).decode() if encoded else None)

    def _identify(self, user, folder):
        """Use the client certificate, if the user has one. The ssl module reads it from files only."""
        if 'client-certificate' in user:
            self.context.load_cert_chain(os.path.join(folder, user['client-certificate']),
                                         os.path.join(folder, user['client-key']))
        elif 'client-certificate-data' in user:
            with tempfile.NamedTemporaryFile() as f:
                for part in ('client-certificate-data', 'client-key-data'):
                    f.write(base64.b64decode(user[part]))
                f.flush()
                self.context.load_cert_chain(f.name)

    def call(self, method, path, body=None, ctype='application/json'):
        kept = hasattr(self.own, 'connection')
        if not kept:
            self.own.connection = http.client.HTTPSConnection(self.address.hostname, self.address.port, context=self.context, timeout=60)
        try:
            return request(self.own.connection, method, path, body, self.headers | {'Content-Type': ctype})
        except (ConnectionError, ssl.SSLError, http.client.HTTPException):  # it was closed while nobody used it; http.client connects again
            if not kept:
                raise
        return request(self.own.connection, method, path, body, self.headers | {'Content-Type': ctype})

    def get(self, url):
        """The object, or None if there is none."""
        code, data, _ = self.call('GET', url)
        return data if code == 200 else None

    def served(self, crd):
        """Whether all served versions of a CRD can be listed, and no others are announced."""
        group, plural = crd['spec']['group'], crd['spec']['names']['plural']
        for version in crd['spec']['versions']:
            base = f'/apis/{group}/{version["name"]}'
            code, data, _ = self.call('GET', base)
            announced = code == 200 and any(r['name'] == plural for r in data['resources'])
            if announced != version['served']:
                return False
            if announced and self.call('GET', f'{base}/{plural}?limit=1').code != 200:
                return False
        return True
