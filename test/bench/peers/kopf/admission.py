"""The reference with one check of one field, for the benchmark of admission."""
import os

import kopf


@kopf.on.startup()
async def startup_fn(settings: kopf.OperatorSettings, **_):
    settings.admission.server = kopf.WebhookServer(
        addr='127.0.0.1', port=int(os.environ['BENCH_PORT']),
        certfile=os.environ['BENCH_CERT'], pkeyfile=os.environ['BENCH_KEY'])


@kopf.on.validate('kopfexamples', id='check')
async def check(spec, **_):
    if not spec.get('field'):
        raise kopf.AdmissionError('the field is empty', code=422)
