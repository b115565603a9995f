"""How handlers reach Kubernetes and other servers."""

import json

import kopf

# [want]

kopf.wants(
    kubernetes=[{
        'groups': [''],
        'resources': ['configmaps', 'pods'],
        'verbs': ['get', 'list', 'create', 'patch', 'delete'],
    }],
    http=['api.example.com'],
)

# [/want]

# [client]

@kopf.on.create('kopfexamples')
async def create(name, spec, **_):
    archive = {
        'apiVersion': 'v1', 'kind': 'ConfigMap',
        'metadata': {'name': f'{name}-archive'},
        'data': {'spec': json.dumps(dict(spec))},
    }
    kopf.adopt(archive)
    made = await kopf.api('v1', 'configmaps').apply(archive)
    return {'archive': made['metadata']['name']}

# [/client]

# [list]

async def busy(name):
    pods = await kopf.api('v1', 'pods').list(labels=f'app={name}')
    return [pod['metadata']['name'] for pod in pods]

# [/list]

@kopf.on.resume('kopfexamples')
async def resume(name, **_):
    return await busy(name)

# [errors]

@kopf.on.delete('kopfexamples')
async def remove(name, **_):
    try:
        await kopf.api('v1', 'configmaps').delete(f'{name}-archive')
    except kopf.APIError as err:
        if err.reason == 'NotFound':
            return  # as well
        if err.reason == 'Conflict':
            raise kopf.TemporaryError("another writer has just changed it", delay=1)
        raise

# [/errors]

# [fetch]

@kopf.on.update('kopfexamples')
async def update(name, spec, **_):
    response = await kopf.fetch(
        'https://api.example.com/v1/archives',
        headers={'Authorization': f"Bearer {kopf.config('token')}"},
        json={'name': name, 'spec': dict(spec)},
        timeout=5,
    )
    if response.status != 200:
        raise kopf.TemporaryError("the archive is closed", delay=60)
    return {'id': response.json()['id']}

# [/fetch]
