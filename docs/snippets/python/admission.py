"""Handlers that the API server asks before it stores objects."""

import kopf

# [handlers]

@kopf.on.validate('kopfexamples', id='check-size')
def check_size(spec, warnings, **_):
    size = spec.get('size', 0)
    if size < 0:
        raise kopf.AdmissionError("the size cannot be negative", code=422)
    if size > 100:
        warnings.append("large ones take long")

@kopf.on.mutate('kopfexamples', id='fill-in', operation='CREATE')
def fill_in(spec, patch, **_):
    if 'size' not in spec:
        patch.spec['size'] = 1

# [/handlers]

# [options]

@kopf.on.validate(
    'kopfexamples',
    id='review-deletion',
    operation='DELETE',
    labels={'protected': 'yes'},
    persistent=True,
)
def review_deletion(userinfo, **_):
    if userinfo['username'] != 'system:admin':
        raise kopf.AdmissionError("only administrators delete protected objects", code=403)

# [/options]

# [settings]

@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_):
    settings.admission.server = kopf.WebhookServer(port=9443)
    settings.admission.managed = 'my-operator.example.com'

# [/settings]
