"""Loading the script: compiling, running, and errors with their places."""

import linecache
import os
import sys
import traceback
import types

from kopf import _errors, _files

_OWN = ("KOPF_SCRIPT", "KOPF_SCRIPT_NAME")
_VERSION = f"Python {sys.version_info.major}.{sys.version_info.minor}"  # newer ones have more syntax and names


class ScriptError(Exception):
    """The script cannot be loaded. The message has the place and the reason."""


def load(config):
    """Run the script of a configuration as a module. Return its name."""
    text = config.get("KOPF_SCRIPT")
    name = config.get("KOPF_SCRIPT_NAME") or "operator.py"
    if text is None:
        raise ScriptError("there is no script: its text is expected in the configuration KOPF_SCRIPT")
    os.environ.update({key: value for key, value in config.items() if key not in _OWN and _is_variable(key, value)})
    module = types.ModuleType(f"__kopf_script_0__{name}")
    module.__file__ = name
    sys.modules[module.__name__] = module
    sys.modules[module.__name__.partition(".")[0]] = module  # pickle imports it, for classes of the script
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)  # for tracebacks
    try:
        exec(compile(text, name, "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        _print(error)
        raise ScriptError(_located(error, name)) from None
    return name


def _is_variable(key, value):
    return isinstance(value, str) and key and "=" not in key and "\0" not in key + value


def operator_name(name):
    """Return the name of the operator of a script: the file without its folder and ending."""
    return os.path.splitext(os.path.basename(name))[0] or "operator"


def _print(error):
    at = error.__traceback__
    while at is not None and at.tb_frame.f_globals.get("__name__", "").startswith("kopf."):
        at = at.tb_next
    try:
        traceback.print_exception(type(error), error, at)
    except Exception:
        pass  # a broken __str__: the message follows


def _located(error, name):
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: {type(error).__name__}: {error.msg} ({_VERSION})"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == name or _files.is_own(frame.filename)]
    place = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else f"{name}: "
    text = _errors.text(error)
    if isinstance(error, SystemExit):
        return f"{place}the script ends itself: {type(error).__name__}({text})"
    hint = ""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in sys.stdlib_module_names:
        hint = ": the sandbox does not have this module of the standard library"
    elif isinstance(error, ImportError) and (error.name or "").startswith("__kopf_script_"):
        hint = ": a script has no package for relative imports: run it as kopf run -m PACKAGE.MODULE"
    elif isinstance(error, ImportError) and (error.name or "").startswith("kopf."):
        hint = ": it is internal to Kopf, and not here: the host is the reactor. Use the public names of kopf"
    elif isinstance(error, ImportError) and error.name in sys.stdlib_module_names:
        hint = f": this is {_VERSION}"
    elif isinstance(error, ModuleNotFoundError):
        hint = ": the sandbox has Python's standard library, kopf, and the packages that are packed with the script"
    elif isinstance(error, AttributeError) and error.name is not None:
        hint = _errors.meant(error.name, dir(error.obj))
    if isinstance(error, KeyError) and _raised_in(error) == "os":
        hint = ": pass variables of the environment by --env NAME, or --config NAME=VALUE"
    if type(error).__name__ == "ZoneInfoNotFoundError":
        hint = ": the sandbox has no time zones: pack the package tzdata with the script"
    return f"{place}{type(error).__name__}{': ' if text else ''}{text}{hint}"


def _raised_in(error):
    """Return the name of the module whose code raised an exception."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_globals.get("__name__")
