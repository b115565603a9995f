"""How handlers select objects."""

import kopf

# [functions]

def in_test(namespace, **_):
    return namespace.startswith('test-')

def is_paused(spec, **_):
    return spec.get('paused', False)

# [/functions]

# [metadata]

@kopf.on.create(
    'kopfexamples',
    labels={'tier': 'production', 'owner': kopf.PRESENT},
    annotations={'example.com/ignore': kopf.ABSENT},
)
def ready(**_):
    pass

# [/metadata]

# [callback]

@kopf.on.update('kopfexamples', labels={'version': lambda value, **_: (value or '').startswith('v2')})
def upgraded(**_):
    pass

# [/callback]

# [field]

@kopf.on.update('kopfexamples', field='spec.size', old='small', new='large')
def resized(**_):
    pass

@kopf.on.create('kopfexamples', field=('metadata', 'labels', 'example.com/tier'), value=kopf.PRESENT)
def labelled(**_):
    pass

# [/field]

# [when]

@kopf.on.create('kopfexamples', when=kopf.all_([in_test, kopf.not_(is_paused)]))
def selected(**_):
    pass

# [/when]
