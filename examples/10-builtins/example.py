"""Handles pods: deletes those whose lifetime, an annotation in seconds, is over."""

import asyncio

import kopf
import pykube

LIFETIME = 'example.com/lifetime'


@kopf.on.resume('pods')
@kopf.on.create('pods')
async def pod_in_sight(patch, **_):
    patch.metadata.labels['example.com/seen'] = 'yes'


@kopf.daemon('pods', annotations={LIFETIME: kopf.PRESENT})
async def pod_killer(name, namespace, annotations, logger, **_):
    try:
        await asyncio.sleep(float(annotations[LIFETIME]))
    except asyncio.CancelledError:
        logger.info("deleted before its time")
        raise
    api = pykube.HTTPClient(pykube.KubeConfig.from_env())
    pykube.Pod.objects(api, namespace=namespace).get_by_name(name).delete()
    logger.info("its time is over")
