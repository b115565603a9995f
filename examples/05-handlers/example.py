"""One handler for each thing that happens to an object, and two for some of them."""

import kopf


@kopf.on.create('kopfexamples')
def created_first(**_):
    return 'yes'


@kopf.on.create('kopfexamples')
def created_second(spec, **_):
    return spec.get('field')


@kopf.on.resume('kopfexamples')
def resumed(patch, **_):
    patch.status['resumed'] = True  # the operator has restarted, and the object is not new


@kopf.on.update('kopfexamples')
def updated(diff, **_):
    return [[op, '.'.join(path), old, new] for op, path, old, new in diff]


@kopf.on.field('kopfexamples', field='spec.field')
def changed(old, new, **_):
    return f"{old} -> {new}"


@kopf.on.delete('kopfexamples')
def deleted_first(logger, **_):
    logger.info("the object waits for this handler")


@kopf.on.delete('kopfexamples')
def deleted_second(retry, logger, **_):
    if retry == 0:
        raise kopf.TemporaryError("and for this one", delay=1)
    logger.info("good-bye")
