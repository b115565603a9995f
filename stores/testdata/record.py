#!/usr/bin/env python3
"""
Record what the storages of the real Kopf (1.45.2) do: python3 record.py > kopf.json

Bodies have sorted keys, as API servers send custom objects: so the stored texts
are to be the same byte for byte. The configurations are in the form of stores.NewProgress.
"""
import copy
import hashlib
import json

import kopf
from kopf._cogs.structs import bodies, patches

DIFFBASES = {
    'annotations': kopf.AnnotationsDiffBaseStorage,
    'status': kopf.StatusDiffBaseStorage,
}
PROGRESSES = {
    'annotations': kopf.AnnotationsProgressStorage,
    'status': kopf.StatusProgressStorage,
    'smart': kopf.SmartProgressStorage,
}


def make(config, classes, multi):
    if isinstance(config, list):
        return multi([make(item, classes, multi) for item in config])
    kwargs = {key: val for key, val in config.items() if key != 'type'}
    return classes[config['type']](**kwargs)


BODY = {
    'apiVersion': 'g/v1', 'data': {'é😀': '\x7f"\\/<>&\n', 'nums': [1, 1.0, 1e21, 1e-7, 0.1, 10**20, -0.0, True, None]}, 'kind': 'K',
    'metadata': {
        'annotations': {
            'a': 'b', 'kopf.zalando.org/last-handled-configuration': '{"spec":{"x":0}}\n', 'kubectl.kubernetes.io/last-applied-configuration': '{}',
            'my.example.com/fn': '{"retries":2}', 'my.example.com/kopf-managed': 'yes', 'my.example.com/state': '{"spec":{}}', 'z': ''},
        'creationTimestamp': 't', 'finalizers': ['f'], 'labels': {'l': 'v'}, 'name': 'n', 'uid': 'u'},
    'spec': {'a': {'b': {'c': 1}}, 'noise': 1, 'x': [{'z': 1, 'ä': 2}]},
    'status': {'kopf': {'dummy': 'then', 'last-handled-configuration': '{"spec":{"y":0}}', 'progress': {'fn': {'purpose': 'create', 'retries': 3}}}, 'phase': 'P'},
}
DRS = {'apiVersion': 'apps/v1', 'kind': 'ReplicaSet', 'metadata': {
    'annotations': {'kopf.zalando.org/fn': '{"retries":7}', 'kopf.zalando.org/fn-ofDRS': '{"retries":1}', 'kopf.zalando.org/last-handled-configuration': '{"spec":{"of":"deployment"}}',
                    'kopf.zalando.org/last-handled-configuration-ofDRS': '{"spec":{"of":"replicaset"}}'},
    'labels': {}, 'name': 'n', 'ownerReferences': [{'kind': 'Other'}, {'kind': 'Deployment'}]}, 'spec': {'replicas': 1}}
PLAIN = {'metadata': {'name': 'n'}, 'spec': None}
OBJECTS = json.loads(json.dumps({'body': BODY, 'drs': DRS, 'plain': PLAIN}, sort_keys=True))
RECORD = {'started': '2020-01-01T00:00:00.000000+00:00', 'stopped': None, 'delayed': '2020-01-01T00:01:00.000001+00:00', 'purpose': 'create', 'retries': 1,
          'success': False, 'failure': False, 'message': 'é😀\x7f</script>', 'subrefs': ['fn/a', 'fn/b']}

out = {'blake2b': {}, 'objects': OBJECTS, 'record': RECORD, 'diffbases': [], 'progresses': []}
for text in ['', 'a', 'x' * 127, 'x' * 128, 'x' * 129, 'x' * 256, 'x' * 1000, 'é😀']:
    out['blake2b'][text] = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()

for config in [{'type': 'annotations'}, {'type': 'annotations', 'prefix': 'my.example.com', 'key': 'state', 'v1': False}, {'type': 'annotations', 'ignored_fields': ['spec.noise', ['spec', 'a', 'b', 'c'], 'spec.x.z']},
               {'type': 'status'}, {'type': 'status', 'name': 'op', 'field': 'status.{name}.state'}, {'type': 'status', 'field': ['status', 'a.b']},
               [{'type': 'status'}, {'type': 'annotations', 'prefix': 'my.example.com', 'key': 'state'}, {'type': 'annotations'}],
               [{'type': 'annotations', 'prefix': 'absent.example.com'}, {'type': 'annotations', 'ignored_fields': ['spec.noise']}]]:
    storage = make(config, DIFFBASES, kopf.MultiDiffBaseStorage)
    for name, obj in OBJECTS.items():
        for extra in [None, ['status.phase'], ['status'], ['metadata'], [['metadata', 'finalizers']]]:
            body = bodies.Body(copy.deepcopy(obj))
            essence = storage.build(body=body, extra_fields=extra)
            patch = patches.Patch()
            storage.store(body=body, patch=patch, essence=essence)
            out['diffbases'].append({'config': config, 'object': name, 'extra': extra, 'essence': essence, 'patch': patch, 'fetched': storage.fetch(body=body)})

for config in [{'type': 'smart'}, {'type': 'smart', 'prefix': 'my.example.com', 'name': 'op', 'touch_key': 'poke', 'verbose': True, 'v1': False}, {'type': 'annotations'}, {'type': 'status', 'field': 'status.{name}.p', 'touch_field': ['status', 'a.b']},
               [{'type': 'annotations', 'prefix': 'my.example.com'}, {'type': 'status'}], [{'type': 'status', 'name': 'absent'}, {'type': 'smart'}]]:
    storage = make(config, PROGRESSES, kopf.MultiProgressStorage)
    for name, obj in OBJECTS.items():
        for key in ['fn', 'parent/' + 'x' * 70]:
            body = bodies.Body(copy.deepcopy(obj))
            store, purge, touch, untouch = (patches.Patch() for _ in range(4))
            storage.store(key=key, record=RECORD, body=body, patch=store)
            storage.purge(key=key, body=body, patch=purge)
            storage.touch(body=body, patch=touch, value='now')
            storage.touch(body=body, patch=untouch, value=None)
            out['progresses'].append({'config': config, 'object': name, 'id': key, 'fetched': storage.fetch(body=body, key=key), 'store': store, 'purge': purge, 'touch': touch, 'untouch': untouch,
                                      'cleared': storage.clear(essence=copy.deepcopy(obj))})

sections = []
for key, section in out.items():
    lines = [f'{json.dumps(k)}: {json.dumps(v)}' for k, v in section.items()] if isinstance(section, dict) else [json.dumps(v) for v in section]
    sections.append(f'"{key}": ' + '{['[isinstance(section, list)] + '\n' + ',\n'.join(lines) + '\n' + '}]'[isinstance(section, list)])
print('{' + ',\n'.join(sections) + '}')
