"""How objects become children of the handled one."""

import kopf

# [adopt]

@kopf.on.create('kopfexamples')
def create(patch, **_):
    pod = {'apiVersion': 'v1', 'kind': 'Pod'}
    kopf.adopt(pod)
    patch.status['child'] = pod

# [/adopt]

# [options]

@kopf.on.update('kopfexamples')
def update(name, **_):
    deployment = {'apiVersion': 'apps/v1', 'kind': 'Deployment', 'spec': {'template': {'spec': {}}}}
    kopf.label(deployment, {'app.example.com/of': name}, nested='spec.template')  # the pods get the label too
    kopf.adopt(deployment, strict=True)  # the owner's name, without a suffix

# [/options]
