"""Handlers for liveness probes."""

import datetime

import kopf

# [probe]

@kopf.on.probe()
def now(**_):
    return datetime.datetime.now(datetime.timezone.utc).isoformat()

@kopf.on.probe()
def handled(memo: kopf.Memo, **_):
    return memo.get('handled', 0)

# [/probe]
