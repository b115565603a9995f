"""Things that are remembered between calls, without writing them to the cluster."""

import kopf


@kopf.on.startup()
def prepare(memo, **_):
    memo.greeting = 'hello'  # the memo of each object begins as a copy of this one


@kopf.on.event('kopfexamples')
def count(memo, **_):
    memo.events = memo.get('events', 0) + 1


@kopf.timer('kopfexamples', interval=3)
def report(memo, logger, **_):
    logger.info(f"{memo.greeting} events={memo.get('events')}")
