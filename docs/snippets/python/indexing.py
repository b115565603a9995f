"""Handlers that look at other objects."""

import kopf

# [keyed]

@kopf.index('pods')
def pods_by_node(spec, name, **_):
    return {spec.get('nodeName'): name}

@kopf.on.create('kopfexamples')
def create(spec, pods_by_node: kopf.Index, logger, **_):
    for pod in pods_by_node.get(spec.get('node'), []):
        logger.info(f"a neighbour pod={pod}")

# [/keyed]

# [values]

@kopf.index('kopfexamples')
def names(name, **_):
    return name

@kopf.on.update('kopfexamples')
def update(names: kopf.Index, logger, **_):
    logger.info(f"all of us names={list(names.get(None, []))}")

# [/values]
