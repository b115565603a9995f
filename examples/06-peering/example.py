"""An operator like any other: operators of one peering object pause for the one with the highest priority."""

import kopf


@kopf.on.create('kopfexamples')
def create_fn(logger, patch, **_):
    logger.info("handled by one operator only")
    patch.status['handled'] = True
