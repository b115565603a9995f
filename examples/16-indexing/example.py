"""Handlers that look at other objects without asking the cluster: indices of config maps by their labels, and of all examples."""

import kopf


@kopf.index('configmaps', labels={'app': kopf.PRESENT})
def byApp(labels, name, **_):
    return {labels['app']: name}  # several config maps can have one key


@kopf.index('kopfexamples')
def names(name, **_):
    return name  # without keys


@kopf.on.create('kopfexamples')
def create(spec, byApp: kopf.Index, names: kopf.Index, logger, **_):
    configs = list(byApp.get(spec.get('field'), []))
    logger.info(f"both are complete before any handler runs configs={configs} examples={len(names.get(None, []))}")
    return {'configs': configs}
