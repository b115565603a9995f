"""Gives each EphemeralVolumeClaim a PersistentVolumeClaim, and shows in its status what becomes of it."""

import kopf

CLAIM_OF = 'ephemeralvolumeclaims.example.com/claim-of'  # a label

kopf.wants(kubernetes=[
    {'groups': [''], 'resources': ['persistentvolumeclaims'], 'verbs': ['create', 'patch']},
    {'groups': ['example.com'], 'resources': ['ephemeralvolumeclaims'], 'verbs': ['patch']},
])


# It can be repeated: the claim is created, adopted if it exists already, or changed. The
# cluster deletes it with its owner.
@kopf.on.create('ephemeralvolumeclaims', id='applyClaim')
@kopf.on.update('ephemeralvolumeclaims', id='applyClaim')
async def apply_claim(spec, name, labels, **_):
    if not spec.get('size'):
        raise kopf.PermanentError("a volume needs a size")
    claim = {
        'apiVersion': 'v1',
        'kind': 'PersistentVolumeClaim',
        'metadata': {'name': name, 'labels': {**labels, CLAIM_OF: name}},
        'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': spec['size']}}},
    }
    kopf.adopt(claim)
    try:
        await kopf.api('v1', 'persistentvolumeclaims').apply(claim)
    except kopf.APIError as error:
        if error.status not in (409, 422):
            raise
        raise kopf.PermanentError(f"the claim cannot be changed: {error}")
    return {'claim': name}


# It is called when a claim changes, and when the operator starts.
@kopf.on.event('persistentvolumeclaims', labels={CLAIM_OF: kopf.PRESENT})
async def report_phase(type, labels, status, **_):
    if type == 'DELETED' or 'phase' not in status:
        return
    try:
        await kopf.api('example.com/v1', 'ephemeralvolumeclaims').patch(labels[CLAIM_OF], {'status': {'phase': status['phase']}})
    except kopf.APIError as error:
        if error.status != 404:  # its claim follows it
            raise
