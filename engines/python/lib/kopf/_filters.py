"""Filters of labels, annotations, fields and resources."""

import enum
import inspect
import math

from kopf import _codec


class MetaFilterToken(enum.Enum):
    """Filters by the existence of a value."""

    PRESENT = enum.auto()
    ABSENT = enum.auto()


class Marker(enum.Enum):
    """The selector of all resources."""

    EVERYTHING = enum.auto()


class _UNSET(enum.Enum):
    """What callbacks get for a field that the object does not have, as in the reference."""

    token = enum.auto()


PRESENT, ABSENT, EVERYTHING = MetaFilterToken.PRESENT, MetaFilterToken.ABSENT, Marker.EVERYTHING
FUNCTION = {"$": "FUNCTION"}


def not_(fn):
    """Return a callback that is true where another one is false."""
    return lambda *args, **kwargs: not settled(fn(*args, **kwargs))


def all_(fns):
    """Return a callback that is true where all of others are true."""
    return lambda *args, **kwargs: all(settled(fn(*args, **kwargs)) for fn in fns)


def any_(fns):
    """Return a callback that is true where one of others is true."""
    return lambda *args, **kwargs: any(settled(fn(*args, **kwargs)) for fn in fns)


def none_(fns):
    """Return a callback that is true where none of others is true."""
    return not_(any_(fns))


def declared(value):
    """Return a filter as the host gets it."""
    if isinstance(value, MetaFilterToken):
        return {"$": value.name}
    if callable(value):
        return FUNCTION
    plain = _codec.copied(value)
    return {"$": "VALUE", "value": plain} if isinstance(plain, dict) and "$" in plain else plain


def evaluate(callback, functions, kwargs, resource):
    """Return the value of one callback of a question of the host."""
    option, key = callback["option"], callback.get("key", "")
    fn = functions[option, key]
    if option == "resource":
        return bool(settled(fn(resource())))
    if option == "initial_delay":
        return _seconds(float(settled(fn(**kwargs))))
    if option == "when":
        return bool(settled(fn(**kwargs)))
    absent = None if option in ("labels", "annotations") else _UNSET.token
    values = (absent if item.get("absent") else item.get("value") for item in callback.get("values") or ())
    return any(bool(settled(fn(value, **kwargs))) for value in values)


def _seconds(value):
    if not math.isfinite(value):
        raise ValueError(f"initial_delay is a number of seconds, not {value}")
    return value


def settled(value, what="filters and callbacks"):
    """Return the value of a function. TypeError: it is async."""
    if inspect.iscoroutine(value):
        value.close()
        raise TypeError(f"{what} cannot wait: make the function `def`, not `async def`")
    return value
