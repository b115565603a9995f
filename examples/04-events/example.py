"""Posts Kubernetes events about the handled object, and about another one."""

import kopf


@kopf.on.create('kopfexamples')
def create_fn(body, namespace, **_):
    kopf.event(body, type='Greeting', reason='Arrived', message="any type, any reason")
    kopf.info(body, reason='Checked', message="all is well")
    kopf.warn(body, reason='Slow', message="it takes a while")
    try:
        raise RuntimeError("no backup")
    except RuntimeError:
        kopf.exception(body, reason='Failed', message="the backup:")

    other = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'other', 'namespace': namespace}}
    kopf.info(other, reason='Mentioned', message="by an example")
