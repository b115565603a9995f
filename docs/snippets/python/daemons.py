"""Handlers that run as long as an object exists."""

import asyncio

import kopf

# [daemon]

@kopf.daemon('kopfexamples')
async def monitor(spec, stopped, logger, **_):
    while not stopped:
        logger.info(f"still there field={spec.get('field')}")  # the newest one
        await stopped.wait(10)
    logger.info(f"good-bye why={stopped.reason}")

# [/daemon]

# [sleep]

@kopf.daemon('kopfexamples')
async def backup(stopped, **_):
    while not stopped:
        await asyncio.sleep(3600)  # raises if cancelled

# [/sleep]

# [options]

@kopf.daemon(
    'kopfexamples',
    labels={'backup': kopf.PRESENT},
    initial_delay=30,
    cancellation_backoff=10,
    cancellation_timeout=20,
)
async def archive(stopped, **_):
    while not await stopped.wait(3600):
        pass

# [/options]
