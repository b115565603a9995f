# The page of Python.

# [first]

import kopf

@kopf.on.create('kopfexamples')
async def create_fn(spec, name, logger, patch, **_):
    logger.info(f"a new object: {spec.get('field')}")
    patch.status['seen'] = True
    return {'message': f'hello, {name}'}

# [/first]
