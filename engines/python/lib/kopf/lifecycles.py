"""The orders in which the due handlers of an object are called.

The host orders the handlers. These functions are names for it: see `kopf.set_default_lifecycle`
and `kopf.execute`.
"""

import random as _random

from kopf import _registry


def all_at_once(handlers, **_):
    """All due handlers in each cycle, in the order of their declaration."""
    return handlers


def one_by_one(handlers, **_):
    """One handler in each cycle, in the order of their declaration."""
    return handlers[:1]


def randomized(handlers, **_):
    """One handler in each cycle, at random."""
    return [_random.choice(handlers)] if handlers else []


def shuffled(handlers, **_):
    """All due handlers in each cycle, in a random order."""
    return _random.sample(handlers, k=len(handlers))


def asap(handlers, *, state=None, **_):
    """One handler in each cycle: the one with the fewest attempts."""
    return sorted(handlers, key=lambda handler: state[handler.id].retries if state is not None else 0)[:1]


_KNOWN = (all_at_once, one_by_one, randomized, shuffled, asap)


def _name(lifecycle):
    """Return the name of a lifecycle for the host."""
    if lifecycle is None:
        return None
    if lifecycle in _KNOWN:
        return lifecycle.__name__
    raise TypeError(f"{lifecycle!r} is no lifecycle that the host knows: it orders the handlers itself. "
                    "Use one of kopf.lifecycles: " + ", ".join(fn.__name__ for fn in _KNOWN) + ".")


def get_default_lifecycle():
    """Return the lifecycle of the operator."""
    name = _registry.get_default_registry().lifecycle
    return globals()[name] if name else asap


def set_default_lifecycle(lifecycle):
    """Set the lifecycle of the operator; None is `asap`."""
    _registry.get_default_registry().lifecycle = _name(lifecycle)
