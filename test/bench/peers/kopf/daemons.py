"""
The reference with a daemon for each object, which looks at the object every ten
seconds: asynchronous ones, or with BENCH_THREADS=1000, so many threads.
"""
import os

import kopf

PERIOD = 10
THREADS = int(os.environ.get('BENCH_THREADS', '0'))


@kopf.on.startup()
async def startup_fn(settings: kopf.OperatorSettings, **_):
    if THREADS:
        settings.execution.max_workers = THREADS + 100


if THREADS:
    @kopf.daemon('kopfexamples')
    def daemon_fn(stopped, spec, **_):
        looks = 0
        while not stopped.wait(PERIOD):
            if spec['field']:
                looks += 1
else:
    @kopf.daemon('kopfexamples')
    async def daemon_fn(stopped, spec, **_):
        looks = 0
        while not await stopped.wait(PERIOD):
            if spec['field']:
                looks += 1
