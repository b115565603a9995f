"""The operator for Kopf, with the official client of Kubernetes. It runs here, too."""

import kopf
import kubernetes

CLAIM_OF = 'ephemeralvolumeclaims.example.com/claim-of'  # a label


# It can be repeated: the claim is created, adopted if it exists already, or changed. The
# cluster deletes it with its owner.
@kopf.on.create('ephemeralvolumeclaims', id='applyClaim')
@kopf.on.update('ephemeralvolumeclaims', id='applyClaim')
def apply_claim(spec, name, namespace, labels, **_):
    if not spec.get('size'):
        raise kopf.PermanentError("a volume needs a size")
    claim = {
        'apiVersion': 'v1',
        'kind': 'PersistentVolumeClaim',
        'metadata': {'name': name, 'labels': {**labels, CLAIM_OF: name}},
        'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': spec['size']}}},
    }
    kopf.adopt(claim)
    kubernetes.config.load_config()
    api = kubernetes.client.CoreV1Api()
    try:
        api.create_namespaced_persistent_volume_claim(namespace, claim)
    except kubernetes.client.ApiException as error:
        if error.status != 409:
            raise
        change_claim(api, name, namespace, claim)
    return {'claim': name}


def change_claim(api, name, namespace, claim):
    try:
        api.patch_namespaced_persistent_volume_claim(name, namespace, claim)
    except kubernetes.client.ApiException as error:
        if error.status != 422:
            raise
        raise kopf.PermanentError(f"the claim cannot be changed: {error.body}")


# It is called when a claim changes, and when the operator starts.
@kopf.on.event('persistentvolumeclaims', labels={CLAIM_OF: kopf.PRESENT})
def report_phase(type, labels, namespace, status, **_):
    if type == 'DELETED' or 'phase' not in status:
        return
    kubernetes.config.load_config()
    api = kubernetes.client.CustomObjectsApi()
    try:
        api.patch_namespaced_custom_object(
            'example.com', 'v1', namespace, 'ephemeralvolumeclaims', labels[CLAIM_OF], {'status': {'phase': status['phase']}})
    except kubernetes.client.ApiException as error:
        if error.status != 404:  # its claim follows it
            raise
