# [operator]

"""Begins memberships when they are paid, and renews them."""

import datetime

import kopf

@kopf.on.create('memberships', timeout=86400)
def begin(spec, meta, logger, **_):
    if spec.get('days', 0) <= 0:
        raise kopf.PermanentError("a membership needs a number of days")
    if not spec.get('paid'):
        raise kopf.TemporaryError("it is not paid yet", delay=5)
    logger.info(f"welcome member={spec.get('member')}")
    return {'expires': expiry(meta, spec['days'])}

def expiry(meta, days):
    """It counts from the creation of the object."""
    created = datetime.date.fromisoformat(meta['creationTimestamp'][:10])
    return (created + datetime.timedelta(days=days)).isoformat()

@kopf.on.field('memberships', field='spec.days')
def renew(reason, old, new, meta, patch, logger, **_):
    if reason != 'update':  # field handlers are called for creations too
        return
    logger.info(f"renewed from={old} to={new}")
    patch.status['begin'] = {'expires': expiry(meta, new)}

@kopf.on.delete('memberships')
def end(spec, logger, **_):
    logger.info(f"goodbye member={spec.get('member')}")

# [/operator]
