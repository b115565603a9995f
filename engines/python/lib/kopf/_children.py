"""Sub-handlers: handlers that a handler declares while it runs."""

import collections.abc

from kopf import _errors, _registry, lifecycles
from kopf._context import here

_PARENTS = ("create", "update", "delete", "resume", "field", "sub")


def subhandler(*, id=None, param=None, errors=None, timeout=None, retries=None, backoff=None, labels=None,
               annotations=None, when=None, field=None, value=None, old=None, new=None):
    """Declare a sub-handler of the running handler.

    The sub-handlers run after the handler, or in `kopf.execute()`. The handler is called
    again until all of them have finished, so it must declare the same ones each time.
    """
    options = {
        "id": id, "param": param, "errors": errors, "timeout": timeout, "retries": retries, "backoff": backoff,
        "labels": labels, "annotations": annotations, "when": when, "field": field, "value": value, "old": old, "new": new,
    }

    def decorate(fn):
        task = _parent("@kopf.subhandler")
        if (old is not None or new is not None) and task.kind not in ("update", "field", "sub"):
            raise TypeError("Filters old=/new= can only be used in update handlers.")
        task.declared.append(_registry.Handler("sub", fn, dict(options)))
        return fn

    return decorate


def register(fn, *, id=None, param=None, errors=None, timeout=None, retries=None, backoff=None, labels=None,
             annotations=None, when=None):
    """Declare a function as a sub-handler of the running handler."""
    return subhandler(id=id, param=param, errors=errors, timeout=timeout, retries=retries, backoff=backoff,
                      labels=labels, annotations=annotations, when=when)(fn)


async def execute(*, fns=None, handlers=None, registry=None, lifecycle=None, cause=None):
    """Run sub-handlers now: functions by their ids, a list of functions, or the declared ones.

    If some of them are to be retried later, the call raises an error that ends the handler,
    and the handler is called again.
    """
    if len([given for given in (fns, handlers, registry) if given is not None]) > 1:
        raise TypeError("Only one of the fns, handlers, registry can be passed. Got more.")
    if handlers is not None or registry is not None or cause is not None:
        raise TypeError("kopf.execute() takes functions here, not handlers, registries or causes, "
                        "which are internals of the reference: kopf.execute(fns={'id': fn}).")
    task = _parent("kopf.execute()")
    if fns is None and task.executed:
        return
    children = _children_of(task, fns)
    order = lifecycles._name(lifecycle)
    if children and await task.execute(children, order):
        raise _errors.HandlerChildrenRetry(None)


def _children_of(task, fns):
    if fns is None:
        task.executed = True
        children, task.declared = task.declared, []
        return children
    if isinstance(fns, collections.abc.Mapping):
        return [_registry.Handler("sub", fn, {"id": id}) for id, fn in fns.items()]
    if isinstance(fns, collections.abc.Iterable):
        return [_registry.Handler("sub", fn, {}) for fn in fns]
    raise ValueError(f"fns must be a mapping or an iterable, got {type(fns)}.")


def _parent(function):
    task = here(function)
    if task.kind not in _PARENTS:
        raise TypeError(f"{function}: Sub-handlers are only supported for resource-changing handlers.")
    return task
