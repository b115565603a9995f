"""What was seen of an operator, reduced to what is compared: see README.md, expected.json."""
import collections
import datetime
import json
import urllib.parse

from .audit import resource_of

SECTIONS = ['calls', 'writes', 'delays', 'started', 'events', 'exits', 'results', 'final', 'reads']

MUTATING = ('create', 'update', 'patch', 'delete', 'deletecollection')
REVIEWS = ('selfsubjectreviews', 'selfsubjectrulesreviews')  # creations that only ask


def collect(case, final):
    """All sections of a case that has ended, not normalised yet."""
    writes, events, delays, reads = [], [], [], set()
    started = collections.OrderedDict()
    for record in sorted(case.requests(), key=lambda r: r['requestReceivedTimestamp']):
        who = {} if record['user']['username'] == case.users['main'] else {'operator': 'b'}
        if record['verb'] in ('list', 'watch') and record['stage'] in ('ResponseStarted', 'ResponseComplete'):
            reads.add(f"{record['verb']} {urllib.parse.urlsplit(record['requestURI']).path}")
        if record['verb'] not in MUTATING or record['stage'] != 'ResponseComplete' or resource_of(record) in REVIEWS:
            continue
        if resource_of(record) == 'events':
            events.append(who | {'body': record.get('requestObject'), 'code': record['responseStatus'].get('code')})
            continue
        writes.append(who | describe_write(record))
        take_progress(record, delays, started)
    out = {
        'calls': case.calls, 'writes': writes, 'events': events, 'delays': delays,
        'started': {k: len(v) for k, v in started.items()},
        'exits': case.exits, 'results': case.results, 'final': final,
    }
    return out | ({'reads': sorted(reads)} if case.spec.get('record_reads') else {})


def describe_write(record):
    ref, body = record.get('objectRef') or {}, record.get('requestObject')
    api_version = f"{ref.get('apiGroup', '')}/{ref.get('apiVersion')}".strip('/')
    item = {'verb': record['verb'], 'resource': f"{api_version}/{ref.get('resource')}", 'name': ref.get('name'),
            'code': record['responseStatus'].get('code'), 'body': body}
    if record['verb'] == 'patch':
        item['format'] = 'json-patch' if isinstance(body, list) else 'merge-patch'
    return item | {k: ref[k] for k in ('namespace', 'subresource') if ref.get(k)}


def take_progress(record, delays, started):
    """The times that a write stores: the delay until the next attempt, and the different starts of a handler."""
    name = (record.get('objectRef') or {}).get('name')
    for key, progress in progress_records(record.get('requestObject')):
        where = f'{name}:{key}'
        if progress.get('started') and progress['started'] not in started.setdefault(where, []):
            started[where].append(progress['started'])
        if progress.get('delayed'):
            seconds = timestamp(progress['delayed']) - timestamp(record['requestReceivedTimestamp'])
            delays.append({'of': where, 'seconds': round(seconds, 2)})


def progress_records(body):
    """The records of progress in a patch: in annotations, or in the status."""
    if not isinstance(body, dict):
        return
    for key, value in ((body.get('metadata') or {}).get('annotations') or {}).items():
        if isinstance(value, str) and value.startswith('{') and '"retries"' in value:
            yield key, json.loads(value)
    for name, stanza in (body.get('status') or {}).items():
        if isinstance(stanza, dict) and isinstance(stanza.get('progress'), dict):
            for key, value in stanza['progress'].items():
                if isinstance(value, dict):
                    yield f'status.{name}.{key}', value


def timestamp(text):
    """Seconds since the epoch; times without a zone are in UTC."""
    time = datetime.datetime.fromisoformat(text.replace('Z', '+00:00'))
    return (time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)).timestamp()


def reduce_object(obj):
    """An object without what the API server makes up."""
    if obj is None:
        return None
    meta = obj.get('metadata', {})
    out = {k: meta[k] for k in ('labels', 'annotations', 'finalizers', 'ownerReferences') if k in meta}
    if 'deletionTimestamp' in meta:
        out['deleting'] = True
    return out | {k: v for k, v in obj.items() if k not in ('metadata', 'kind', 'apiVersion')}
