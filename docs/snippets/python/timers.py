"""Handlers that are called again and again."""

import kopf

# [interval]

@kopf.timer('kopfexamples', interval=60)
def ping(started, patch, **_):
    patch.status['pinged'] = started.isoformat()

# [/interval]

# [options]

@kopf.timer('kopfexamples', id='sharp', interval=60, sharp=True)
@kopf.timer('kopfexamples', id='idle', interval=60, idle=10)
@kopf.timer('kopfexamples', id='late', interval=60, initial_delay=5)
def touch(**_):
    pass

# [/options]
