"""How handlers change the object that they handle."""

import kopf

# [merge]

@kopf.on.create('kopfexamples')
def merge(patch, **_):
    patch.status['phase'] = 'Ready'
    patch.metadata.labels['example.com/seen'] = 'yes'
    patch.metadata.annotations['example.com/draft'] = None  # deletes it
    patch.spec['template'] = {'replicas': 3}
    patch.status['volumes'] = {'bound': 2}

# [/merge]

# [failing]

@kopf.on.delete('kopfexamples')
def fail(patch, retry, **_):
    patch.status['attempts'] = retry + 1  # it is stored with each attempt
    raise kopf.TemporaryError("the backup is still running")

# [/failing]

# [edit]

@kopf.on.update('kopfexamples')
def edit(patch, **_):
    def add(body):
        finalizers = body['metadata'].setdefault('finalizers', [])
        if 'example.com/mine' not in finalizers:
            finalizers.append('example.com/mine')
    patch.fns.append(add)

# [/edit]
