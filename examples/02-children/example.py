"""Gives each EphemeralVolumeClaim a PersistentVolumeClaim, and shows in its status what becomes of it."""

import kopf
import pykube

CLAIM_OF = 'ephemeralvolumeclaims.example.com/claim-of'  # a label


class EphemeralVolumeClaim(pykube.objects.NamespacedAPIObject):
    version = 'example.com/v1'
    endpoint = 'ephemeralvolumeclaims'
    kind = 'EphemeralVolumeClaim'


@kopf.on.create('ephemeralvolumeclaims', id='applyClaim')
@kopf.on.update('ephemeralvolumeclaims', id='applyClaim')
def apply_claim(spec, name, labels, **_):
    """It can be repeated: the claim is created, or changed if it exists. The cluster deletes it with its owner."""
    if not spec.get('size'):
        raise kopf.PermanentError("a volume needs a size")
    claim = {
        'apiVersion': 'v1', 'kind': 'PersistentVolumeClaim',
        'metadata': {'name': name, 'labels': {**labels, CLAIM_OF: name}},
        'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': spec['size']}}},
    }
    kopf.adopt(claim)
    found = pykube.PersistentVolumeClaim(client(), claim)
    try:
        if found.exists():
            found.patch({'metadata': claim['metadata'], 'spec': claim['spec']})
        else:
            found.create()
    except pykube.exceptions.HTTPError as error:
        if error.code == 422:
            raise kopf.PermanentError("the claim cannot be changed") from error
        raise
    return {'claim': found.name}


@kopf.on.event('persistentvolumeclaims', id='reportPhase', labels={CLAIM_OF: kopf.PRESENT})
def report_phase(type, labels, status, namespace, **_):
    """It is called when a claim changes, or comes into sight at the start."""
    if type == 'DELETED' or not status.get('phase'):
        return
    owner = EphemeralVolumeClaim.objects(client(), namespace=namespace).get_or_none(name=labels[CLAIM_OF])
    if owner is not None:  # otherwise the claim will follow it
        owner.patch({'status': {'phase': status['phase']}})


def client():
    return pykube.HTTPClient(pykube.KubeConfig.from_env())
