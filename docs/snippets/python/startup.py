"""Handlers for the beginning and the end of an operator."""

import kopf

# [startup]

@kopf.on.startup(retries=3)
def configure(settings: kopf.OperatorSettings, **_):
    if not kopf.config('region'):
        raise kopf.PermanentError("run it with --config region=NAME")
    settings.execution.default_backoff = 10

# [/startup]

# [cleanup]

@kopf.on.cleanup()
def goodbye(logger, **_):
    logger.info("the operator ends")

# [/cleanup]

# [variables]

region = ''

@kopf.on.startup()
def remember(**_):
    global region
    region = kopf.config('region') or 'anywhere'

@kopf.on.create('kopfexamples')
def place(patch, **_):
    patch.spec['region'] = region

# [/variables]

# [setup]

kind = kopf.config('resource')
if not kind:
    raise ValueError("run it with --config resource=NAME")

@kopf.on.create(kind)
def create(**_):
    pass

# [/setup]
