"""The kinds of handlers."""

import kopf

# [changes]

@kopf.on.create('kopfexamples')
def created(**_):
    return {'message': 'hello'}  # in status.created

@kopf.on.update('kopfexamples')
def updated(diff, logger, **_):
    for op, path, old, new in diff:
        logger.info(f"{op} {'.'.join(path)}: {old} -> {new}")

@kopf.on.delete('kopfexamples')
def deleted(**_):
    pass

@kopf.on.resume('kopfexamples')
def resumed(**_):
    pass

# [/changes]

# [optional]

@kopf.on.delete('kopfexamples', optional=True)
def missed(**_):
    pass

# [/optional]

# [deleted]

@kopf.on.resume('kopfexamples', deleted=True)
def rejoined(**_):
    pass

# [/deleted]

# [lifecycle]

kopf.set_default_lifecycle(kopf.lifecycles.all_at_once)

# [/lifecycle]

# [field]

@kopf.on.field('kopfexamples', field='spec.size')
def resize(old, new, logger, **_):
    logger.info(f"the size: {old} -> {new}")  # values of spec.size

# [/field]

# [event]

@kopf.on.event('pods')
def spied(type, status, logger, **_):
    if type is None:
        return  # it is in the listing at the start
    logger.info(f"seen type={type} phase={status.get('phase')}")

# [/event]

# [closure]

for size in ['small', 'large']:
    @kopf.on.create('kopfexamples', id=f'create-{size}')
    def create(logger, size=size, **_):
        logger.info(f"a closure size={size}")

# [/closure]

# [one-function]

@kopf.on.create('kopfexamples')
@kopf.on.update('kopfexamples')
@kopf.on.resume('kopfexamples')
def reconcile(**_):
    pass

# [/one-function]

# [several]

@kopf.on.create('kopfexamples', id='small', param=1)
@kopf.on.create('kopfexamples', id='large', param=10)
def ensure(param, logger, **_):
    logger.info(f"ensured size={param}")

# [/several]

# [options]

@kopf.on.create('kopfexamples', retries=10, backoff=60, labels={'app': kopf.PRESENT})
def provision(**_):
    pass

@kopf.timer('kopfexamples', retries=10, backoff=60, interval=3600)
def check(**_):
    pass

# [/options]
