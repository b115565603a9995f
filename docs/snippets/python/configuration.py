"""How a startup handler changes the settings."""

import kopf

# [settings]

@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_):
    settings.queueing.worker_limit = 10
    settings.persistence.finalizer = 'example.com/finalizer'
    settings.persistence.consistency_timeout = 2
    settings.networking.error_backoffs = [1, 2, 4, 8]

# [/settings]

@kopf.on.startup()
def storages(settings: kopf.OperatorSettings, **_):
    # [status]
    settings.persistence.progress_storage = kopf.StatusProgressStorage(field='status.my-operator.progress')
    settings.persistence.diffbase_storage = kopf.StatusDiffBaseStorage(field='status.my-operator.last-handled')
    # [/status]

    # [multi]
    settings.persistence.progress_storage = kopf.MultiProgressStorage([
        kopf.AnnotationsProgressStorage(prefix='my-operator.example.com'),
        kopf.SmartProgressStorage(),
    ])
    # [/multi]

    # [ignored]
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(
        prefix='my-operator.example.com',
        ignored_fields=['spec.replicas'],
    )
    # [/ignored]
