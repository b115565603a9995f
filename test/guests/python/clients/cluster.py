"""An operator that uses the official client of Kubernetes, as its documentation shows, by `spec.by`."""

import kopf
import kubernetes
import kubernetes.dynamic


@kopf.on.create("kopfexamples", id="sync")
def fn(spec, namespace, **_):
    return {"value": globals()[spec["by"]](namespace)}


def claims(namespace):
    """Make a claim, change it, list claims, delete it, and look for it again."""
    kubernetes.config.load_incluster_config()
    api = kubernetes.client.CoreV1Api()
    body = kubernetes.client.V1PersistentVolumeClaim(
        metadata=kubernetes.client.V1ObjectMeta(name="claim"),
        spec=kubernetes.client.V1PersistentVolumeClaimSpec(
            access_modes=["ReadWriteOnce"], resources=kubernetes.client.V1VolumeResourceRequirements(requests={"storage": "1Gi"})))
    made = api.create_namespaced_persistent_volume_claim(namespace, body)
    api.patch_namespaced_persistent_volume_claim("claim", namespace, {"metadata": {"labels": {"a": "b"}}})
    found = [[claim.metadata.name, claim.metadata.labels] for claim in api.list_namespaced_persistent_volume_claim(namespace, label_selector="a=b").items]
    api.delete_namespaced_persistent_volume_claim("claim", namespace)
    try:
        api.read_namespaced_persistent_volume_claim("missing", namespace)
    except kubernetes.client.ApiException as error:
        return [made.status.phase, found, error.status, error.reason]


def unconfigured(namespace):
    """The login of the reference configures the client: operators rely on that."""
    return len(kubernetes.client.CoreV1Api().list_namespaced_persistent_volume_claim(namespace).items)


def secrets(namespace):
    kubernetes.config.load_kube_config()
    return len(kubernetes.client.CoreV1Api().list_namespaced_secret(namespace).items)


def custom(namespace):
    kubernetes.config.load_config()
    api = kubernetes.client.CustomObjectsApi()
    found = api.list_namespaced_custom_object("kopf.dev", "v1", namespace, "kopfexamples")
    return [item["metadata"]["name"] for item in found["items"]]


def dynamic(namespace):
    """A client that asks the cluster which resources there are."""
    kubernetes.config.load_config()
    api = kubernetes.dynamic.DynamicClient(kubernetes.client.ApiClient())
    examples = api.resources.get(api_version="kopf.dev/v1", kind="KopfExample")
    claims = api.resources.get(api_version="v1", kind="PersistentVolumeClaim")
    return [sorted(item.metadata.name for item in examples.get(namespace=namespace).items), len(claims.get(namespace=namespace).items)]
