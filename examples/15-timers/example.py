"""Handlers that are called again and again, while their objects exist."""

import asyncio
import time

import kopf


@kopf.timer('kopfexamples', interval=2)
def often(spec, **_):
    return {'field': spec.get('field')}  # to the status


@kopf.timer('kopfexamples', idle=5, interval=5)
def whenIdle(logger, **_):
    logger.info("nothing has changed for 5 seconds")


# It takes a while, but begins every 3 seconds; now and then it fails.
@kopf.timer('kopfexamples', interval=3, sharp=True, initial_delay=1)
async def onTheDot(retry, **_):
    if retry == 0 and int(time.time()) % 4 == 0:
        raise kopf.TemporaryError("not now", delay=1)
    await asyncio.sleep(1)
