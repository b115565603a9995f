"""A daemon for each object: code that waits, sees the changes of its object, and ends when it is stopped."""

import kopf


@kopf.daemon('kopfexamples', cancellation_timeout=10)
async def monitor(stopped, spec, logger, **_):
    while not await stopped.wait(2):
        logger.info(f"still there field={spec.get('field')}")
    logger.info("good-bye")
