"""What errors of handlers mean."""

import kopf

# [temporary]

@kopf.on.create('kopfexamples')
def provision(status, **_):
    if 'volume' not in status:
        raise kopf.TemporaryError("the volume is not ready", delay=10)

# [/temporary]

# [permanent]

def check(spec):
    if spec.get('size', 0) > 100:
        raise kopf.PermanentError("sizes over 100 are not possible")

# [/permanent]

class QuotaError(Exception):
    pass

def reserve():
    raise QuotaError("over the quota")

# [wrapped]

@kopf.on.update('kopfexamples')
def wrapped(spec, **_):
    check(spec)  # still permanent
    try:
        reserve()
    except QuotaError as err:
        raise kopf.TemporaryError(f"reserving: {err}", delay=60) from err

# [/wrapped]

# [options]

@kopf.on.create(
    'kopfexamples',
    errors=kopf.ErrorsMode.TEMPORARY,  # or PERMANENT, IGNORED
    backoff=30,
    retries=5,
    timeout=600,
)
def fragile(**_):
    pass

# [/options]
