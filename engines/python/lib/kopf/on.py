"""The decorators of handlers: `@kopf.on.create('kopfexamples')` and others."""

import inspect
from types import FunctionType

from kopf import _children, _errors, _kwargs, _registry

_COMMON = ("id", "param")
_ATTEMPTS = ("errors", "timeout", "retries", "backoff")
_FILTERS = ("labels", "annotations", "when", "field", "value")
_CHANGES = (*_COMMON, *_ATTEMPTS, *_FILTERS)
_REVIEWS = (*_COMMON, "operation", "operations", "subresource", "persistent", "side_effects", "ignore_failures", *_FILTERS)
_PARTS = ("group", "version", "kind", "plural", "singular", "shortcut", "category")
_ARGUMENTS = frozenset().union(*_kwargs._NAMES.values()) - {"resource"}  # of handlers; that of selectors can have any other name


def _decorator(kind, options, of_objects=True, required=()):
    """Return the decorator factory of a kind of handlers."""
    allowed = {*options, "registry"}

    def factory(*args, **given):
        parts = {name: given.pop(name) for name in _PARTS if name in given} if of_objects else {}
        _check(factory.__name__, args if of_objects or not args else None, given, allowed, required)
        registry = given.pop("registry", None) or _registry.get_default_registry()

        def decorate(fn):
            handler = _registry.Handler(kind, fn, _renamed(given), (args, parts) if of_objects else None)
            registry.append(handler)
            return fn

        return decorate

    return factory


def _check(name, args, given, allowed, required):
    if args is None:
        raise TypeError(f"{name}() takes 0 positional arguments: it is about no resource. Use it as @kopf.on.{name}().")
    if len(args) == 1 and _is_handler(args[0]):
        raise TypeError(f"@kopf.on.{name} decorates {args[0].__name__}() without a resource. Use @kopf.on.{name}('kopfexamples').")
    if len(args) > 3:
        raise TypeError(f"{name}() takes from 0 to 3 positional arguments but {len(args)} were given")
    for option in given:
        if option not in allowed:
            raise TypeError(f"{name}() got an unexpected keyword argument {option!r}{_errors.meant(option, allowed - {'registry'})}")
    for option in required:
        if given.get(option) is None:
            raise TypeError(f"{name}() missing 1 required keyword-only argument: {option!r}")


def _is_handler(fn):
    """Tell whether a function is a handler, rather than a selector, which takes one argument: the resource."""
    if not isinstance(fn, FunctionType) or not fn.__code__.co_flags & inspect.CO_VARKEYWORDS:
        return False
    names = fn.__code__.co_varnames[:fn.__code__.co_argcount]
    return len(names) != 1 or names[0] in _ARGUMENTS


def _renamed(given):
    options = dict(given)
    if "from_" in options:
        options["from"] = options.pop("from_")
    return options


def _named(name, doc, *args, **kwargs):
    factory = _decorator(*args, **kwargs)
    factory.__name__ = factory.__qualname__ = name
    factory.__doc__ = doc
    return factory


startup = _named("startup", "Call a function when the operator starts.", "startup", (*_COMMON, *_ATTEMPTS), False)
cleanup = _named("cleanup", "Call a function when the operator ends.", "cleanup", (*_COMMON, *_ATTEMPTS), False)
login = _named("login", "Call a function for credentials.", "login", (*_COMMON, *_ATTEMPTS), False)
probe = _named("probe", "Call a function for the liveness endpoint.", "probe", (*_COMMON, *_ATTEMPTS), False)
validate = _named("validate", "Call a function to review a request of others.", "validate", _REVIEWS)
mutate = _named("mutate", "Call a function to review and change a request of others.", "mutate", _REVIEWS)
convert = _named("convert", "Call a function to convert objects between versions.", "convert", (*_COMMON, "from_", "to"))
create = _named("create", "Call a function for new objects.", "create", _CHANGES)
update = _named("update", "Call a function for changed objects.", "update", (*_CHANGES, "old", "new"))
delete = _named("delete", "Call a function for objects that are being deleted.", "delete", (*_CHANGES, "optional"))
resume = _named("resume", "Call a function for known objects when the operator starts.", "resume", (*_CHANGES, "deleted"))
field = _named("field", "Call a function for changes of a field.", "field", (*_CHANGES, "old", "new"), required=("field",))
event = _named("event", "Call a function for each event of a watch.", "event", (*_COMMON, *_FILTERS))
index = _named("index", "Call a function for the values of an index.", "index", _CHANGES)
timer = _named("timer", "Call a function regularly for each object.", "timer",
               (*_CHANGES, "interval", "initial_delay", "sharp", "idle"))
daemon = _named("daemon", "Run a function for the whole life of each object.", "daemon",
                (*_CHANGES, "initial_delay", "cancellation_backoff", "cancellation_timeout", "cancellation_polling"))
subhandler, register = _children.subhandler, _children.register
