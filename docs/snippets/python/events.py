"""How handlers post Kubernetes events."""

import kopf

# [events]

@kopf.on.create('kopfexamples')
def create(body, **_):
    kopf.info(body, reason='Created', message="the volume is there")
    kopf.warn(body, reason='Slow', message="it took a while")
    kopf.exception(body, exc=ValueError("no backup"), message="the backup failed:")

# [/events]

# [about]

@kopf.on.update('kopfexamples')
def update(**_):
    pod = {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'namespace': 'default', 'name': 'pod-1'}}
    kopf.event(pod, type='Normal', reason='Restarted', message="by the operator")

# [/about]
