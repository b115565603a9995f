"""How an operator keeps children of its objects."""

import kopf

# [card]

kopf.wants(kubernetes=[{'groups': [''], 'resources': ['configmaps'], 'verbs': ['create', 'patch']}])

@kopf.on.create('memberships')
@kopf.on.update('memberships')
@kopf.on.resume('memberships')
async def card(name, spec, **_):
    child = {
        'apiVersion': 'v1', 'kind': 'ConfigMap',
        'metadata': {'name': f'{name}-card'},
        'data': {'member': spec.get('member')},
    }
    kopf.adopt(child)
    applied = await kopf.api('v1', 'configmaps').apply(child)
    return applied['metadata']['name']

# [/card]
