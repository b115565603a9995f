"""Names, times and identifiers replaced by markers, so that two runs of a case are equal."""
import base64
import json
import re
import socket

TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?')
UID = re.compile(r'\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b')
DURATION = re.compile(r'\b\d:\d\d:\d\d\.\d{6}\b')
IDENTITY = re.compile(r'[\w.-]+@[\w.-]+/\d{14}/[a-z0-9]{3}')
HERE = re.compile(r'\b[\w-]+@' + re.escape(socket.gethostname()) + r'\b[\w.-]*')

DROPPED = ('managedFields', 'creationTimestamp', 'generation', 'selfLink', 'deletionGracePeriodSeconds')


class Normaliser:
    """Replaces what belongs to one run of a case: its namespace, ports, folder and users."""

    def __init__(self, namespace, ports, folder, users):
        # Digits around a port make it a part of another number, as in microseconds.
        self.replacements = [(re.compile(pattern), marker) for pattern, marker in (
            (re.escape(namespace), '<ns>'),
            (rf'(?<!\d){ports[0]}(?!\d)', '<port>'),
            (rf'(?<!\d){ports[1]}(?!\d)', '<port2>'),
            (re.escape(folder), '<tmp>'),
            (re.escape(users['main']), '<operator>'),
            (re.escape(users['b']), '<operator-b>'),
        )]

    def apply(self, x, key=None):
        """A copy of a JSON value; key is that of the value in its parent."""
        if isinstance(x, dict):
            return {self.apply(k): self.apply(v, k) for k, v in x.items() if k not in DROPPED}
        if isinstance(x, list):
            return [self.apply(blank_version(v) if key in ('body', None) else v) for v in x]
        return self._text(x, key) if isinstance(x, str) else x

    def _text(self, x, key):
        if key == 'resourceVersion':
            return '<rv>'
        if key == 'caBundle':
            return '<base64>'
        if key == 'patch' and x.startswith('W'):  # of an admission response: a JSON list in Base64
            return {'$base64json': json.loads(base64.b64decode(x))}
        if key != 'text' and x.startswith('{') and x.rstrip().endswith('}'):
            try:
                return {'$json': self.apply(json.loads(x))} | ({'$tail': '\n'} if x.endswith('\n') else {})
            except ValueError:
                pass  # it only looks like JSON
        for pattern, marker in self.replacements:
            x = pattern.sub(marker, x)
        x = HERE.sub('<user@host>', IDENTITY.sub('<user@host/time/rnd>', x))
        return DURATION.sub('<duration>', UID.sub('<uid>', TIME.sub(time_marker, x)))


def blank_version(operation):
    """The guard of a JSON patch without the version that it expects."""
    if isinstance(operation, dict) and operation.get('path') == '/metadata/resourceVersion':
        return operation | {'value': '<rv>'}
    return operation


def time_marker(match):
    """The format of a time: the number of digits of its fraction, and its zone."""
    fraction = f'.{len(match[1]) - 1}f' if match[1] else ''
    return f'<ts{fraction}{match[2] or ""}>'
