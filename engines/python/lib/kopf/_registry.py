"""Declarations of handlers, and the registration that the host gets."""

import enum
import logging
import warnings
from collections.abc import Mapping
from types import MethodType

from kopf import _calls, _codec, _references, _views
from kopf._filters import declared

# What the host knows of as options without a form of their own.
_PLAIN = (
    "param", "errors", "timeout", "retries", "backoff", "optional", "deleted", "interval", "sharp", "idle",
    "cancellation_backoff", "cancellation_timeout", "cancellation_polling",
    "subresource", "persistent", "side_effects", "ignore_failures", "from", "to",
)
_FILTERS = ("value", "old", "new", "when", "initial_delay")


class Handler:
    """A function with its declaration, and its options that are functions."""

    def __init__(self, kind, fn, options, selector=None):
        if not callable(fn):
            raise TypeError(f"{kind}: a handler is a function, not {fn!r}")
        self.fn, self.kind, self.functions = fn, kind, {}
        self.is_async, self.wanted = _calls.is_async(fn), _calls.wanted(fn)
        given = options.pop("id", None)
        self.id = _calls.id_of(fn) if given is None else given
        self.param = options.get("param")
        self.declaration = {"kind": kind, "id": self.id}
        if selector is not None:
            self.declaration["resource"], function = _references.selector(*selector, kind)
            if function is not None:
                self.functions["resource", ""] = function
        _verify(options)
        for name, value in options.items():
            if value is not None:
                self._option(name, value)

    def _option(self, name, value):
        if name == "field":
            self.declaration[name] = list(_views.parse_field(value))
        elif name in ("labels", "annotations"):
            self.declaration[name] = {key: self._filter(name, key, item) for key, item in value.items()}
        elif name in _FILTERS:
            self.declaration[name] = self._filter(name, "", value)
        elif name == "operations":
            value = [value] if isinstance(value, str) else value  # not its letters
            self.declaration[name] = list(value) if isinstance(value, (list, tuple)) else sorted(value)  # sets have no order of their own
        elif name in _PLAIN:
            self.declaration[name] = value.name if isinstance(value, enum.Enum) else _plain(self.kind, name, value)
        else:
            raise TypeError(f"{self.kind}: there is no option {name}")

    def _filter(self, name, key, value):
        if callable(value):
            self.functions[name, key] = value
        elif name == "when":
            raise TypeError(f"when: a filter is a function, not {value!r}")
        try:
            return declared(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{self.kind}: the filter {name} cannot be {value!r}: {error}. Use a function of the value.") from None


def _plain(kind, name, value):
    try:
        return _codec.copied(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{kind}: the option {name} is a part of the registration, which is JSON: {error}. "
                        "Bind other values by functools.partial or a closure.") from None


def _verify(options):
    """Refuse what contradicts itself, as the reference does."""
    value, old, new = options.get("value"), options.get("old"), options.get("new")
    if options.get("field") is None and not (value is None and old is None and new is None):
        raise TypeError("Value/old/new filters are specified without a mandatory field.")
    if value is not None and (old is not None or new is not None):
        raise TypeError("Either value= or old=/new= can be defined, not both.")
    for name in ("labels", "annotations"):
        if not isinstance(options.get(name) or {}, Mapping):
            raise TypeError(f"{name}: filters are a dict by keys, not {options[name]!r}")
        for key, item in (options.get(name) or {}).items():
            if item is None:
                raise ValueError(f"`None` for {name[:-1]} filters is not supported; use kopf.PRESENT or kopf.ABSENT.")
    operation = options.pop("operation", None)
    if operation is not None:
        warnings.warn("operation= is deprecated, use operations={...}.", DeprecationWarning, stacklevel=5)
        options["operations"] = {operation, *(options.get("operations") or ())}
    if options.get("operations") is not None and not options["operations"]:
        raise ValueError(f"Operations should be either None or non-empty. Got empty {options['operations']}.")


class OperatorRegistry:
    """The handlers of an operator, in the order of their declaration."""

    def __init__(self):
        self.handlers, self.name = [], None
        self.lifecycle = None
        self.capabilities = None
        self.closed = False

    def append(self, handler):
        """Add a handler. RuntimeError: the operator runs already."""
        if self.closed:
            raise RuntimeError(f"@kopf.on.{handler.kind}: handlers are declared when the script is loaded, not by handlers. "
                               "In a handler, use @kopf.subhandler.")
        self.handlers.append(handler)

    def warn(self):
        """Warn of what works in the reference, and is silently lost here."""
        warned = set()  # of one function for several causes, once
        for handler in self.handlers:
            if handler.kind in ("startup", "cleanup") or handler.id in warned:
                continue
            assigned = _calls.assigned(handler.fn)
            for verb, names in (("assigns", assigned), ("changes", [name for name in _calls.filled(handler.fn) if name not in assigned])):
                if names:
                    warned.add(handler.id)
                    logging.getLogger("kopf").warning(
                        f"Handler {handler.id!r} {verb} the global {', '.join(names)}, which other handlers may not see: they run in copies of the "
                        "script after its startup handlers. Set it in a startup handler, or use the memo or an index.")

    def registration(self, name):
        """Return the answer to the host."""
        self.closed = True
        message = {"sdk": "python", "operator": {"name": name}, "handlers": identified(self.handlers)}
        if self.lifecycle is not None:
            message["lifecycle"] = self.lifecycle
        if self.capabilities is not None:
            message["capabilities"] = self.capabilities
        # Coroutines share an instance while they wait. A function that blocks would block the others.
        message["shared_tasks"] = all(h.is_async for h in self.handlers if h.kind == "daemon")
        return message


def identified(handlers):
    """Return the declarations, with the identities of the functions."""
    numbers = {}
    return [{**handler.declaration, "fn": f"{handler.id}#{numbers.setdefault(_identity(handler.fn), len(numbers))}"} for handler in handlers]


def _identity(fn):
    """Return what is equal for the same function, also for a method of the same object, which is made when it is looked at."""
    return (id(fn.__self__), id(fn.__func__)) if isinstance(fn, MethodType) else id(fn)


_default = OperatorRegistry()


def get_default_registry():
    """Return the registry that decorators without `registry=` use."""
    return _default


def set_default_registry(registry):
    """Set the registry that decorators without `registry=` use, and that the host gets."""
    global _default
    if not isinstance(registry, OperatorRegistry):
        raise TypeError(f"a registry is a kopf.OperatorRegistry, not {registry!r}")
    _default = registry


def wants(*, kubernetes=None, http=None, config=None):
    """Declare the rights that the operator needs; the administrator grants them.

    `kubernetes` is a list of rules as in RBAC: dicts of `groups`, `resources`, `verbs`, and
    `namespaces`. `http` is a list of hosts, `config` of keys. Several calls, such as one in each
    module, add up.
    """
    wanted = dict(_default.capabilities or {})
    for key, items in (("kubernetes", kubernetes), ("http", http), ("config", config)):
        if items is None:
            continue
        if isinstance(items, (str, Mapping)):
            raise TypeError(f"kopf.wants: {key} is a list, not {items!r}")
        items = list(items)
        for rule in items if key == "kubernetes" else ():
            if not isinstance(rule, Mapping) or not rule.keys() <= {"groups", "resources", "verbs", "namespaces"}:
                raise TypeError(f"kopf.wants: a rule is a dict of groups, resources, verbs and namespaces, not {rule!r}")
        wanted[key] = [*wanted.get(key, ()), *_codec.copied(items)]
    _default.capabilities = wanted
