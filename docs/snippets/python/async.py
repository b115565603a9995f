"""Handlers that wait."""

import asyncio

import kopf

kopf.wants(kubernetes=[{'groups': [''], 'resources': ['pods'], 'verbs': ['get']}])

# [sleep]

@kopf.on.create('kopfexamples')
async def create(logger, **_):
    await asyncio.sleep(30)  # raises if cancelled: the operator exits
    logger.info("half a minute later")

# [/sleep]

# [context]

@kopf.on.update('kopfexamples')
async def update(**_):
    async with asyncio.timeout(60):
        await poll()

async def poll():
    """It knows nothing of handlers."""
    while True:
        pod = await kopf.api('v1', 'pods').get('db-0')
        if pod.get('status', {}).get('phase') == 'Running':
            return
        await asyncio.sleep(1)  # TimeoutError after a minute

# [/context]
