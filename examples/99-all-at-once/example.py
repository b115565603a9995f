"""The features of the other examples in one operator."""

import asyncio

import kopf
import pykube


@kopf.on.startup()
async def prepare(logger, **_):
    await asyncio.sleep(0.5)
    logger.info("prepared")


@kopf.on.startup()
async def prepare_late(retry, memo, **_):
    if retry < 2:
        raise kopf.TemporaryError("not yet", delay=0.5)
    memo.prepared = True


@kopf.on.cleanup()
async def clean_up(logger, **_):
    await asyncio.sleep(0.5)
    logger.info("cleaned up")


@kopf.index('configmaps', labels={'made-by': 'example'})
def copies(name, **_):
    return name


@kopf.on.create('kopfexamples')
def first_step(body, memo, **_):
    kopf.info(body, reason='Begun', message="the first step")
    kopf.event(body, type='Warning', reason='Slow', message="it may take some seconds")
    return {'prepared': memo.get('prepared')}


@kopf.on.create('kopfexamples', backoff=1)
def second_step(retry, **_):
    if retry == 0:
        raise RuntimeError("the first attempt fails")
    return {'attempts': retry + 1}


@kopf.on.create('kopfexamples')
def copy(name, spec, **_):
    copied = f'{name}-copy'
    child = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': copied}, 'data': {'field': spec.get('field', '')}}
    kopf.adopt(child)
    kopf.label(child, {'made-by': 'example'})
    api = pykube.HTTPClient(pykube.KubeConfig.from_env())
    pykube.ConfigMap(api, child).create()
    return {'child': copied}


@kopf.on.create('kopfexamples')
async def each_item(spec, **_):
    for item in spec.get('items', []):

        @kopf.subhandler(id=item)
        def one_item(item=item, **_):
            return item.upper()


@kopf.on.update('kopfexamples')
def update_fn(diff, **_):
    return [[op, '.'.join(path), old, new] for op, path, old, new in diff]


@kopf.on.field('kopfexamples', field='spec.items')
def items_changed(old, new, **_):
    return {'before': len(old or []), 'after': len(new or [])}


@kopf.daemon('kopfexamples', labels={'watched': 'yes'})
async def watch(stopped, patch, copies: kopf.Index, **_):
    while not await stopped.wait(0.5):
        if copies.get(None):
            patch.status['copies'] = list(copies[None])
            break


@kopf.timer('kopfexamples', interval=1, when=lambda status, **_: status.get('copies') and not status.get('counted'))
def count(patch, status, **_):
    patch.status['counted'] = len(status['copies'])


@kopf.on.delete('kopfexamples')
def delete_fn(logger, **_):
    logger.info("good-bye")
