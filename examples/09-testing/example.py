"""An operator whose handlers are tested: see test_example.py."""

import kopf


@kopf.on.create('kopfexamples')
def create_fn(spec, patch, logger, **_):
    if spec.get('field') == 'wrong':
        raise kopf.PermanentError("this field is wrong")
    logger.info("tested")
    patch.status['tested'] = True
    return {'field': spec.get('field')}
