"""Checks and completes objects before they are stored."""

import kopf


@kopf.on.validate('websites.example.com', id='check-replicas')
def check_replicas(spec, warnings, **_):
    if spec.get('replicas', 0) > 10:
        raise kopf.AdmissionError("there can be at most 10 replicas", code=422)
    if spec.get('replicas') == 0:
        warnings.append("no replica will serve this website")


@kopf.on.mutate('websites.example.com', id='fill-in', operations=['CREATE', 'UPDATE'])
def fill_in(spec, patch, userinfo, **_):
    if 'replicas' not in spec:
        patch.spec['replicas'] = 2
    patch.metadata.labels['example.com/requested-by'] = userinfo['username']
