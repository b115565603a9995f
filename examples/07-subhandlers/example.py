"""A handler for each item of a list: each has its own progress, retries and result."""

import kopf


@kopf.on.create('kopfexamples')
def create_fn(spec, **_):
    for item in spec.get('items', []):

        @kopf.subhandler(id=item)
        async def greet(retry, item=item, **_):
            if item == 'late' and retry == 0:
                raise kopf.TemporaryError("once more", delay=1)
            return f"hello, {item}"
