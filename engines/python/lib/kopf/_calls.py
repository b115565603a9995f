"""Functions of handlers: whether they are async, what they are called, and which arguments they take."""

import collections
import dis
import functools
import inspect
from types import FunctionType, MethodType

# Names by which a function can see its arguments other than by their names.
_REFLECTION = {"locals", "vars", "dir", "eval", "exec"}


def is_async(fn):
    """Tell whether a function is a coroutine function: also partials and decorated ones."""
    while True:
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif hasattr(fn, "__wrapped__"):
            fn = fn.__wrapped__
        else:
            return inspect.iscoroutinefunction(fn)


def id_of(fn):
    """Return the id of a handler without one of its own: the qualified name of its function."""
    if fn is None:
        raise ValueError("Cannot build a persistent id of None.")
    if isinstance(fn, functools.partial):
        return id_of(fn.func)
    if hasattr(fn, "__wrapped__"):
        return id_of(fn.__wrapped__)
    if isinstance(fn, FunctionType) and fn.__name__ == "<lambda>":
        return f"lambda:{fn.__code__.co_filename}:{fn.__code__.co_firstlineno}"
    if isinstance(fn, (FunctionType, MethodType)):
        return str(fn.__qualname__)
    raise ValueError(f"Cannot get id of {fn!r}. Name the handler: id='…'.")


def wanted(fn):
    """Return the names of the arguments that a function uses; None if it may use all.

    Arguments that a function takes by `**_` and never looks at are not built. That saves
    messages to the host, and decoding.
    """
    if not isinstance(fn, FunctionType):
        return None
    code = fn.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = set(code.co_varnames[:count])
    if code.co_flags & inspect.CO_VARKEYWORDS:
        rest = code.co_varnames[count + bool(code.co_flags & inspect.CO_VARARGS)]
        if rest in code.co_cellvars or _REFLECTION & set(code.co_names) or _uses(code, rest):
            return None
        return frozenset(names)
    return None  # it takes no others: Python's own error names what is missing or too much


def assigned(fn):
    """Return the names of the global variables that a function assigns."""
    code = getattr(inspect.unwrap(fn), "__code__", None)
    return sorted({i.argval for i in dis.get_instructions(code) if i.opname == "STORE_GLOBAL"}) if code is not None else []


# Methods that change a container.
_CHANGING = frozenset(("add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "insert", "pop", "popitem", "popleft",
                       "remove", "setdefault", "update"))


def filled(fn):
    """Return the names of the global dicts, lists, sets and queues whose items a function changes, as far as its code shows."""
    fn = inspect.unwrap(fn)
    if not isinstance(fn, FunctionType):
        return []
    code, names = list(dis.get_instructions(fn.__code__)), set()
    for at, instruction in enumerate(code):
        if instruction.opname == "LOAD_METHOD" and instruction.argval in _CHANGING:
            start = at - 1
        elif instruction.opname in ("STORE_SUBSCR", "DELETE_SUBSCR"):
            start = _start(code, _start(code, at))  # the container is before the key
        elif instruction.opname == "COPY" and code[at + 1].opname == "COPY":  # of an assignment like +=
            start = _start(code, _start(code, at))
        else:
            continue
        if start >= 0 and code[start].opname == "LOAD_GLOBAL":
            names.add(code[start].argval)
    return sorted(name for name in names if isinstance(fn.__globals__.get(name), (dict, list, set, collections.deque)))


def _start(code, end):
    """Return where the expression before an instruction starts: its instructions leave one value on the stack."""
    depth = 0
    while end > 0 and depth < 1:
        end -= 1
        depth += dis.stack_effect(code[end].opcode, code[end].arg, jump=False)
    return end


def place(fn):
    """Return the file and the line of a function; an empty text if it has none."""
    code = getattr(inspect.unwrap(fn), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""


@functools.lru_cache(128)  # sub-handlers are declared at each attempt
def _uses(code, name):
    return any(i.argval == name and i.opname != "STORE_FAST" for i in dis.get_instructions(code))
