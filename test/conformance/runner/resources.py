"""How the steps of the cases name objects: alias/name[@namespace], or [cluster:]group/version/plural/name."""
import collections

Location = collections.namedtuple('Location', 'url name api_version kind')

# alias -> (group, version, plural, kind, namespaced)
ALIASES = {
    'kex': ('kopf.dev', 'v1', 'kopfexamples', 'KopfExample', True),
    'kss': ('kopf.dev', 'v1', 'kopfsubs', 'KopfSub', True),
    'kcl': ('kopf.dev', 'v1', 'kopfclusters', 'KopfCluster', False),
    'kmv': ('kopf.dev', 'v1', 'kopfmultis', 'KopfMulti', True),
    'kmvb': ('kopf.dev', 'v1beta1', 'kopfmultis', 'KopfMulti', True),
    'kst': ('kopf.dev', 'v1', 'kopfstricts', 'KopfStrict', True),
    'peering': ('kopf.dev', 'v1', 'kopfpeerings', 'KopfPeering', True),
    'cpeering': ('kopf.dev', 'v1', 'clusterkopfpeerings', 'ClusterKopfPeering', False),
    'cm': ('', 'v1', 'configmaps', 'ConfigMap', True),
    'secret': ('', 'v1', 'secrets', 'Secret', True),
    'pod': ('', 'v1', 'pods', 'Pod', True),
    'ns': ('', 'v1', 'namespaces', 'Namespace', False),
    'event': ('', 'v1', 'events', 'Event', True),
    'rs': ('apps', 'v1', 'replicasets', 'ReplicaSet', True),
    'deploy': ('apps', 'v1', 'deployments', 'Deployment', True),
    'crd': ('apiextensions.k8s.io', 'v1', 'customresourcedefinitions', 'CustomResourceDefinition', False),
    'vwc': ('admissionregistration.k8s.io', 'v1', 'validatingwebhookconfigurations', 'ValidatingWebhookConfiguration', False),
    'mwc': ('admissionregistration.k8s.io', 'v1', 'mutatingwebhookconfigurations', 'MutatingWebhookConfiguration', False),
}

# What operators watch for themselves: such watching does not mean that they serve objects already.
META = {'namespaces', 'customresourcedefinitions', 'clusterkopfpeerings', 'kopfpeerings'}


def locate(ref, namespace):
    """Where an object is in the API. The kind is None if only its creator knows it."""
    clusterwide = ref.startswith('cluster:')
    path, _, explicit = (ref[len('cluster:'):] if clusterwide else ref).partition('@')
    parts = path.split('/')
    if len(parts) == 2:
        group, version, plural, kind, namespaced = ALIASES[parts[0]]
    else:
        group, version, plural = parts[:3]
        kind, namespaced = None, not clusterwide
    url = f'/apis/{group}/{version}' if group else f'/api/{version}'
    if namespaced:
        url += f'/namespaces/{explicit or namespace}'
    return Location(f'{url}/{plural}', parts[-1], f'{group}/{version}' if group else version, kind)


def describe_crd(short, default_group):
    """A whole CRD from its description in a case. The first version is the stored one."""
    group, plural = short.get('group', default_group), short['plural']
    kind = short.get('kind', plural.rstrip('s').capitalize())
    names = {'plural': plural, 'kind': kind, 'singular': kind.lower(), 'listKind': f'{kind}List'}
    names |= {k: short[k] for k in ('shortNames', 'categories') if k in short}
    versions = [_crd_version(v if isinstance(v, dict) else {'name': v}, i == 0, short.get('subresources'))
                for i, v in enumerate(short.get('versions', ['v1']))]
    return {
        'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition',
        'metadata': {'name': f'{plural}.{group}'},
        'spec': {'group': group, 'scope': short.get('scope', 'Namespaced'), 'names': names, 'versions': versions},
    }


def _crd_version(version, stored, subresources):
    out = {'name': version['name'], 'served': version.get('served', True), 'storage': stored,
           'schema': {'openAPIV3Schema': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True}}}
    if subresources is not None:
        scale = {'specReplicasPath': '.spec.replicas', 'statusReplicasPath': '.status.replicas'}
        out['subresources'] = {s: {} if s == 'status' else scale for s in subresources}
    return out
