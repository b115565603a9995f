"""Sees each event of the watch. Nothing is stored about these handlers, and they are not repeated."""

import kopf


@kopf.on.event('kopfexamples')
def fails(**_):
    raise RuntimeError("logged, and ignored")


@kopf.on.event('kopfexamples')
def sees(type, spec, patch, logger, **_):
    logger.info(f"seen type={type}")
    if type != 'DELETED':
        patch.status['seen'] = spec.get('field')
