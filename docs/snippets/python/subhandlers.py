"""Handlers that declare others while they run."""

import kopf

# [sub]

@kopf.on.create('kopfexamples')
def create(spec, **_):
    for name, volume in spec.get('volumes', {}).items():
        @kopf.subhandler(id=name, retries=5)
        def attach(volume=volume, **_):
            return mount(volume)
    # the sub-handlers run now

# [/sub]

def mount(volume):
    return f"mounted {volume}"

# [execute]

@kopf.on.update('kopfexamples')
async def update(logger, **_):
    await kopf.execute(fns=[prepare, migrate])  # raises, to be called again, unless it is all done
    logger.info("both are finished")  # logged once

# [/execute]

def prepare(**_):
    pass

def migrate(**_):
    pass
