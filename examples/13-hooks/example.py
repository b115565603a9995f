"""The life of an operator: it prepares itself, logs in, reports its health, and says good-bye."""

import datetime
import logging

import kopf

logger = logging.getLogger(__name__)


@kopf.on.startup(retries=3)
async def prepare(settings, **_):
    settings.execution.max_workers = 10


@kopf.on.login(retries=3)
def login(**kwargs):
    return kopf.login_with_service_account(**kwargs) or kopf.login_with_kubeconfig(**kwargs)


@kopf.on.probe()
def now(**_):
    return datetime.datetime.now(datetime.timezone.utc).isoformat()


@kopf.on.probe()
def handled(examples: kopf.Index, **_):
    return len(examples.get(None, []))


@kopf.on.cleanup()
async def goodbye(examples: kopf.Index, **_):
    logger.info(f"that was it handled={len(examples.get(None, []))}")


@kopf.index('kopfexamples')
def examples(name, **_):
    return name


@kopf.on.create('kopfexamples')
def create(logger, **_):
    logger.info("one more")
