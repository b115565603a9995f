"""The smallest operator: it logs each new object, marks it in its status, and returns a result."""

import kopf


@kopf.on.create('kopfexamples')
def create_fn(spec, patch, logger, **_):
    logger.info(f"a new object field={spec.get('field')}")
    patch.status['seen'] = True
    return {'message': 'hello'}
