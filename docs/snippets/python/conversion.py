"""Handlers that convert objects between versions."""

import kopf

# [convert]

@kopf.on.convert('widgets.example.com', from_='v1', to='v2')
def to_v2(body, spec, **_):
    return {**body, 'spec': renamed(spec, 'size', 'replicas')}

@kopf.on.convert('widgets.example.com', from_='v2', to='v1')
def to_v1(body, spec, **_):
    return {**body, 'spec': renamed(spec, 'replicas', 'size')}

def renamed(spec, old, new):
    return {new if key == old else key: value for key, value in spec.items()}

# [/convert]
