"""Uses that a checker of types refuses, with words of its message. It never runs: see test_types.py."""

import kopf


@kopf.on.create('kopfexamples', interval=3)  # interval
def no_such_option(**_): pass
@kopf.on.update('kopfexamples', retries='3')  # retries
def text_as_number(**_): pass
@kopf.on.field('kopfexamples')  # field
def no_field(**_): pass
@kopf.timer('kopfexamples', cancellation_timeout=3)  # cancellation_timeout
def option_of_daemons(**_): pass
@kopf.daemon('kopfexamples', labels=['a'])  # labels
def labels_as_list(**_): pass
@kopf.on.startup('kopfexamples')  # Too many positional arguments
def no_resource(**_): pass
@kopf.on.created('kopfexamples')  # created
def no_such_kind(**_): pass
@kopf.on.create('kopfexamples', errors='PERMANENT')  # errors
def text_as_mode(**_): pass


def handler(body: kopf.Body, spec: kopf.Spec, patch: kopf.Patch, diff: kopf.Diff, settings: kopf.OperatorSettings) -> None:
    body['spec'] = {}  # indexed assignment
    spec.field  # attribute
    patch.nothing  # attribute
    diff[0].nothing  # attribute
    settings.posting.levle = 30  # levle
    settings.networking.request_timeout = 'a minute'  # str
    kopf.event(body, reason='Reason')  # type
    kopf.info(body)  # reason
    kopf.adopt(body, strict='yes')  # strict
    raise kopf.TemporaryError("again", delay='3')  # delay
