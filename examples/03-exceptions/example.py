"""What follows an error depends on its type, and on the options of the handler."""

import kopf


class OutOfPaper(Exception):
    """An error of the operator itself, which Kopf does not know."""


@kopf.on.create('kopfexamples')
def gives_up(**_):
    raise kopf.PermanentError("this can never work")


@kopf.on.create('kopfexamples')
def succeeds_late(retry, patch, **_):
    patch.status['attempts'] = retry + 1  # patches are applied after errors, too
    if retry < 2:
        raise kopf.TemporaryError("not yet", delay=1)
    return 'done'


@kopf.on.create('kopfexamples', retries=3, backoff=1)
def fails_late(retry, patch, **_):
    patch.status['failures'] = retry + 1
    raise OutOfPaper("tried again after one second, three times in all")


@kopf.on.create('kopfexamples', errors=kopf.ErrorsMode.PERMANENT)
def fails_at_once(**_):
    raise OutOfPaper("not tried again")


@kopf.on.create('kopfexamples', errors=kopf.ErrorsMode.IGNORED)
def is_ignored(**_):
    raise OutOfPaper("counted as a success")
