"""The settings of the operator, as startup handlers change them by attributes."""

import collections.abc
import concurrent.futures
import os

from kopf import _codec, _errors, _references, _storages, _webhooks

_SMART, _ANNOTATIONS = _storages.SmartProgressStorage, _storages.AnnotationsDiffBaseStorage
_DEFAULTS = {
    "process": {"ultimate_exiting_timeout": 600},
    "posting": {
        "enabled": True, "loggers": False, "level": 20, "default_backoffs": (1, 1, 2, 3, 5, 8, 13, 21),
        "logging_backoffs": (1, 1, 2, 3, 5), "worker_limit": None, "idle_timeout": 1.0,
        "reporting_component": "kopf", "reporting_instance": "dev", "event_name_prefix": "kopf-event-",
    },
    "peering": {
        "name": "default", "stealth": False, "priority": 0, "lifetime": 60, "mandatory": False, "standalone": False,
        "clusterwide": False,
    },
    "watching": {
        "server_timeout": None, "client_timeout": None, "connect_timeout": None, "reconnect_backoff": 0.1,
        "inactivity_timeout": 70.0, "chunk_size": None, "initial_streaming": False,
        "label_selectors": None, "field_selectors": None, "shard_selectors": None,
    },
    "queueing": {
        "worker_limit": None, "idle_timeout": 5.0, "exit_timeout": 2.0,
        "error_delays": (1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610),
    },
    "scanning": {"disabled": False},
    "admission": {"server": None, "managed": None},
    "execution": {"default_backoff": 60, "max_workers": None, "executor": None},
    "background": {"cancellation_polling": 60, "instant_exit_timeout": None, "instant_exit_zero_time_cycles": 10},
    "networking": {
        "request_timeout": 300, "connect_timeout": None, "error_backoffs": (1, 1, 2, 3, 5, 8, 13, 21),
        "enforce_retry_after": False, "trust_env": False,
    },
    "persistence": {
        "finalizer": "kopf.zalando.org/KopfFinalizerMarker", "progress_storage": None, "diffbase_storage": None,
        "consistency_timeout": 5.0,
    },
}

_ZERO_COUNTS = "background.instant_exit_timeout"  # no time at all; None is the number of cycles


class SelectorMapping(collections.abc.MutableMapping):
    """Selectors of objects by resources: `settings.watching.label_selectors['kopfexamples'] = 'app=mine'`."""

    def __init__(self, items=None):
        self._items = {}
        self.update(items or {})

    def __setitem__(self, key, value):
        self._items[_selector(key)] = value

    def __getitem__(self, key):
        return self._items[_selector(key)]

    def __delitem__(self, key):
        del self._items[_selector(key)]

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def _describe(self):
        return [{"resource": key.declaration, "selector": value} for key, value in self._items.items()]


def _selector(key):
    if isinstance(key, _references.Selector):
        return key
    return _references.Selector(*key) if isinstance(key, tuple) else _references.Selector(key)


class _Group:
    """The settings with one beginning of their names."""

    def __init__(self, name, values):
        object.__setattr__(self, "_name", name)
        self.__dict__.update(values)

    def __setattr__(self, name, value):
        if (self._name, name) == ("peering", "namespaced"):
            name, value = "clusterwide", not value
        if (self._name, name) == ("queueing", "batch_window"):
            return  # deprecated in the reference, without an effect
        if name not in self.__dict__ or name.startswith("_"):
            raise _errors.SettingError(f"there is no setting {self._name}.{name}" + _errors.meant(name, self.__dict__))
        if (self._name, name) == ("execution", "executor"):
            if isinstance(value, concurrent.futures.ThreadPoolExecutor):  # its size is what it can mean here, unless it is the default
                if value._max_workers != min(32, (os.cpu_count() or 1) + 4):
                    self.__dict__["max_workers"] = value._max_workers
                return
            raise _errors.SettingError("settings.execution.executor: there are no threads in the sandbox, and each sync function has an "
                                       "instance of its own. Limit how many run at once by settings.execution.max_workers.")
        self.__dict__[name] = value

    def __getattr__(self, name):
        if name.startswith("_"):  # also while a copy is made, which has no name yet
            raise AttributeError(name)
        if (self._name, name) == ("peering", "namespaced"):
            return not self.clusterwide
        raise _errors.SettingError(f"there is no setting {self._name}.{name}" + _errors.meant(name, self.__dict__))

    def __repr__(self):
        return f"<settings {self._name}: {dict(self._values())!r}>"

    def _values(self):
        return [(name, value) for name, value in self.__dict__.items() if not name.startswith("_")]


class OperatorSettings:
    """All settings by groups: `settings.posting.level = logging.WARNING`."""

    def __init__(self):
        for group, values in _DEFAULTS.items():
            object.__setattr__(self, group, _Group(group, values))
        self._complete()
        object.__setattr__(self, "_before", self._described())

    @classmethod
    def _of(cls, values):
        """Return the settings with the values of the host, by dotted names."""
        settings = cls()
        for dotted, value in values.items():
            group, _, name = dotted.partition(".")
            if group in _DEFAULTS:
                getattr(settings, group).__dict__[name] = value if dotted == _ZERO_COUNTS else _typed(_DEFAULTS[group].get(name), value)
        settings._complete()
        object.__setattr__(settings, "_before", settings._described())
        return settings

    def _complete(self):
        """Give the values their types that are more than JSON."""
        watching, persistence = self.watching.__dict__, self.persistence.__dict__
        for name in ("label_selectors", "field_selectors", "shard_selectors"):
            watching[name] = _selectors(watching[name])
        for name, default in (("progress_storage", _SMART), ("diffbase_storage", _ANNOTATIONS)):
            value = persistence[name]
            if not hasattr(value, "_describe"):
                persistence[name] = default() if value is None else _storages.Stored(value)

    def __setattr__(self, name, value):
        raise _errors.SettingError(f"settings.{name} cannot be replaced: change what is in it")

    @property
    def batching(self):
        """The old name of `queueing`."""
        return self.queueing

    def _described(self):
        return {f"{group}.{name}": _describe(f"{group}.{name}", value)
                for group in _DEFAULTS for name, value in getattr(self, group)._values()}

    def _changes(self):
        """Return what has changed since the host gave the values, by dotted names."""
        return {name: value for name, value in self._described().items() if value != self._before.get(name)}


def _typed(default, value):
    """Return a value of the host as the type of the default: without a limit, it is None."""
    if default is None and type(value) in (int, float) and value == 0:
        return None
    if isinstance(default, tuple) and isinstance(value, list):
        return tuple(value)
    return float(value) if isinstance(default, float) and type(value) is int else value


def _selectors(value):
    if isinstance(value, SelectorMapping):
        return value
    if isinstance(value, list):
        found = SelectorMapping()
        for item in value:
            found[_references.Selector._of(item["resource"])] = item["selector"]
        return found
    return SelectorMapping(value)


def _describe(name, value):
    if hasattr(value, "_describe"):
        value = value._describe()
    elif name.endswith("_storage"):
        raise TypeError(f"settings.{name}: {type(value).__name__} cannot be used: the host stores the state. Use one of the "
                        "storages of kopf with their options, such as kopf.AnnotationsProgressStorage(prefix='…').")
    elif name == "admission.server" and value is not None and not isinstance(value, (dict, str)):
        value = _webhooks.described(value)
    if isinstance(value, collections.abc.Iterable) and not isinstance(value, (str, bytes, dict, list, tuple, set, frozenset)):
        value = _codec.backoffs(value)
    try:
        return _codec.copied(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"settings.{name}: {value!r} cannot be sent to the host: {error}") from None
