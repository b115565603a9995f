"""The operator of the benchmarks in Python."""

import asyncio

import kopf


@kopf.on.create('kopfexamples', id='create_fn')
def create_fn(spec, patch, **_):
    patch.status['field'] = spec.get('field')


@kopf.on.update('kopfexamples', id='update_fn')
def update_fn(spec, patch, **_):
    patch.status['field'] = spec.get('field')


@kopf.daemon('kopfexamples', id='sleeper')
async def sleeper(**_):
    await asyncio.sleep(100_000)
