# Requests of scripts.

# [calls]

import kopf

kopf.wants(
    kubernetes=[{'groups': [''], 'resources': ['configmaps'], 'verbs': ['create', 'patch']}],
    http=['api.example.com'],
)

@kopf.on.create('kopfexamples')
async def create_fn(name, spec, **_):
    archive = {
        'apiVersion': 'v1', 'kind': 'ConfigMap',
        'metadata': {'name': f'{name}-archive'},
        'data': {'field': spec.get('field', '')},
    }
    kopf.adopt(archive)
    made = await kopf.api('v1', 'configmaps').apply(archive)
    return {'archive': made['metadata']['name']}

@kopf.on.update('kopfexamples')
def update_fn(name, **_):
    response = kopf.fetch('https://api.example.com/v1/archives', json={'name': name}, timeout=5)
    if response.status != 200:
        raise kopf.TemporaryError('the archive is closed', delay=60)
    return {'id': response.json()['id']}

# [/calls]
