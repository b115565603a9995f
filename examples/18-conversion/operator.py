"""Converts objects between two versions of their resource: v1 has a size in words, v2 has a number of gigabytes."""

import kopf

SIZES = {'small': 10, 'medium': 100, 'large': 1000}
ODD = 'example.com/gigabytes'  # keeps a number that v1 has no word for, so that it survives the way back


@kopf.on.convert('databases.data.example.com', id='to-number', from_='v1', to='v2')
def to_number(body, spec, meta, annotations, **_):
    if 'size' not in spec:
        return body  # such as an object that was stored before the conversion
    annotations = dict(annotations)
    kept = annotations.pop(ODD, None)
    size = spec['size']
    if size not in SIZES and not (size == 'custom' and kept):
        raise kopf.PermanentError(f"unknown size {size}")
    rest = {key: value for key, value in spec.items() if key != 'size'}
    gigabytes = SIZES[size] if size in SIZES else int(kept)
    return {**body, 'metadata': {**meta, 'annotations': annotations}, 'spec': {**rest, 'gigabytes': gigabytes}}


@kopf.on.convert('databases.data.example.com', id='to-words', from_='v2', to='v1')
def to_words(body, spec, meta, annotations, **_):
    if 'gigabytes' not in spec:
        return body
    gigabytes = spec['gigabytes']
    words = [word for word, number in SIZES.items() if number == gigabytes]
    annotations = dict(annotations) if words else {**annotations, ODD: str(gigabytes)}
    rest = {key: value for key, value in spec.items() if key != 'gigabytes'}
    return {**body, 'metadata': {**meta, 'annotations': annotations}, 'spec': {**rest, 'size': words[0] if words else 'custom'}}
