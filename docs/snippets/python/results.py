"""What becomes of the results of handlers."""

import kopf

# [results]

@kopf.on.create('kopfexamples')
def job(**_):
    return {'name': 'job-1'}

@kopf.on.create('kopfexamples', id='volumes')
def count(**_):
    return 3

@kopf.on.create('kopfexamples')
def nothing(**_):
    pass

# [/results]
