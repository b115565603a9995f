"""Patterns of several features."""

import kopf

# [never-again]

DONE = 'example.com/migrated'

@kopf.on.resume('kopfexamples', annotations={DONE: kopf.ABSENT})
def migrate(patch, **_):
    patch.metadata.annotations[DONE] = 'yes'  # excludes the handler from now on, also after restarts

# [/never-again]
