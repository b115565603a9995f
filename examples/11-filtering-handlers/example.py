"""Handlers that are called for some objects only: by labels, annotations, fields and functions."""

import kopf


def is_ours(value, spec, **_):
    return value == 'us' and spec.get('field') is not None


def is_theirs(value, **_):
    return value == 'them'


@kopf.on.create('kopfexamples', labels={'owner': 'us'})
def label_equals(**_):
    return 'called'


@kopf.on.create('kopfexamples', labels={'owner': kopf.PRESENT})
def label_is_present(**_):
    return 'called'


@kopf.on.create('kopfexamples', labels={'unknown': kopf.ABSENT})
def label_is_absent(**_):
    return 'called'


@kopf.on.create('kopfexamples', labels={'owner': is_ours})
def label_is_ours(**_):
    return 'called'


@kopf.on.create('kopfexamples', annotations={'owner': is_theirs})
def annotation_is_theirs(**_):
    return 'not called'


@kopf.on.create('kopfexamples', annotations={'owner': kopf.PRESENT, 'unknown': kopf.ABSENT})
def annotations_fit(**_):
    return 'called'


@kopf.on.create('kopfexamples', when=kopf.all_([lambda name, **_: name.startswith('kopf-'), kopf.not_(lambda spec, **_: 'off' in spec)]))
def functions_agree(**_):
    return 'called'


@kopf.on.create('kopfexamples', when=lambda body, **_: False)
def function_disagrees(**_):
    return 'not called'


@kopf.on.create('kopfexamples', field='spec.field', value='value')
def field_equals(**_):
    return 'called'


@kopf.on.create('kopfexamples', field='spec.field', value='other')
def field_differs(**_):
    return 'not called'


@kopf.on.create('kopfexamples', field='spec.unknown', value=kopf.PRESENT)
def field_is_present(**_):
    return 'not called'


@kopf.on.update('kopfexamples', field='spec.field', old='value', new='changed')
def change_fits(**_):
    return 'called'


@kopf.daemon('kopfexamples', field='spec.field', value='value')
def accompanies(stopped, logger, **_):
    while not stopped:
        logger.info("the field still has its value")
        stopped.wait(1)
