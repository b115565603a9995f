"""Handlers that convert objects between versions."""

import kopf

# [convert]

@kopf.on.convert('widgets.example.com', from_='v1', to='v2')
def to_v2(body, spec, **_):
    rest = {key: value for key, value in spec.items() if key != 'size'}
    return {**body, 'spec': {**rest, 'replicas': spec.get('size')}}

@kopf.on.convert('widgets.example.com', from_='v2', to='v1')
def to_v1(body, spec, **_):
    rest = {key: value for key, value in spec.items() if key != 'replicas'}
    return {**body, 'spec': {**rest, 'size': spec.get('replicas')}}

# [/convert]
