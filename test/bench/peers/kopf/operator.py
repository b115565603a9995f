"""
The reference: asynchronous handlers, so that there are no threads, and uvloop,
which Kopf takes if it is installed. With BENCH_POSTING=on, log messages about
objects are posted as events.
"""
import os

import kopf


@kopf.on.startup()
async def startup_fn(settings: kopf.OperatorSettings, **_):
    settings.posting.loggers = os.environ.get('BENCH_POSTING') == 'on'


@kopf.on.create('kopfexamples')
async def create_fn(spec, patch, **_):
    patch.status['field'] = spec['field']


@kopf.on.update('kopfexamples')
async def update_fn(spec, patch, **_):
    patch.status['field'] = spec['field']
