"""What the host remembers between calls."""

import kopf

# [object]

@kopf.on.event('kopfexamples')
def count(memo: kopf.Memo, logger, **_):
    memo['events'] = memo.get('events', 0) + 1
    logger.info(f"events so far count={memo['events']}")

# [/object]

# [operator]

@kopf.on.startup()
def prepare(memo: kopf.Memo, **_):
    memo.greeting = 'hello'

@kopf.on.create('kopfexamples')
def create(memo: kopf.Memo, logger, **_):
    logger.info(memo.greeting)  # the object's own copy

# [/operator]
