"""Compares an external state with the desired one."""

import kopf

# [timer]

@kopf.timer('kopfexamples', interval=300)
def compare(spec, name, patch, logger, **_):
    want, have = spec.get('replicas', 0), measure(name)
    if have != want:
        logger.info(f"the state differs want={want} have={have}")
        patch.status['missing'] = want - have

# [/timer]

def measure(name):
    return len(name)
