# The first screen of the repository.

# [readme]

import kopf

@kopf.on.create('kopfexamples')
def createFn(spec, logger, patch, **_):
    logger.info(f"a new object field={spec.get('field')}")
    patch.status['seen'] = True
    return {'message': 'hello'}

# [/readme]
