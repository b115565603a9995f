"""Errors that handlers raise, and the form of errors for the host."""

import difflib
import enum
import math
import traceback

_MAX_STACK = 16384  # characters; the host logs the stack


class PermanentError(Exception):
    """The handler fails for this cause, and is not retried."""


class TemporaryError(Exception):
    """The handler is retried after the delay in seconds; None is at once."""

    def __init__(self, message=None, delay=60):
        super().__init__(message)
        self.delay = delay


class HandlerTimeoutError(PermanentError):
    """The handler has exceeded its timeout. The host decides this; handlers can raise it."""


class HandlerRetriesError(PermanentError):
    """The handler has exceeded its retries. The host decides this; handlers can raise it."""


class HandlerChildrenRetry(TemporaryError):
    """Sub-handlers are unfinished: the handler is called again. `kopf.execute` raises it."""


class AdmissionError(PermanentError):
    """The review is refused, with a message and an HTTP code."""

    def __init__(self, message="", code=500):
        super().__init__(message)
        self.code = code


class SettingError(PermanentError, AttributeError):
    """There is no such setting here: no retry makes it better."""


class LoginError(Exception):
    """The operator cannot log in to the API."""


class ErrorsMode(enum.Enum):
    """How errors other than temporary and permanent ones are treated."""

    IGNORED = enum.auto()
    TEMPORARY = enum.auto()
    PERMANENT = enum.auto()


class RequestError(Exception):
    """A request without a response. `code` is the type of the ABI, such as `NotGranted` or `Timeout`."""

    def __init__(self, message, code="", kind="arbitrary"):
        super().__init__(message)
        self.code, self.kind = code, kind


class APIError(Exception):
    """A response of the API server with an error status. `body` is its decoded JSON."""

    def __init__(self, status, body):
        details = body if isinstance(body, dict) else {}
        super().__init__(details.get("message") or f"the API server responds with {status}")
        self.status, self.body, self.reason = status, body, details.get("reason", "")


def failure(error):
    """Return an exception in the form of the ABI."""
    message = text(error)
    report = {"kind": _kind(error), "message": message, "type": type(error).__qualname__ if message else _representation(error), "stack": stack(error)}
    if report["kind"] == "temporary":
        delay = getattr(error, "delay", 60)  # a subclass may not call __init__
        if delay is not None and not (isinstance(delay, (int, float)) and math.isfinite(delay)):
            message = f"{report['type']}: {report['message']} (its delay is a number of seconds, or None, not {delay!r})"
            return failure(TypeError(message).with_traceback(error.__traceback__))
        report["delay"] = delay
    if report["kind"] == "admission":
        report["code"] = error.code
    return report


def _representation(error):
    try:
        return repr(error)
    except Exception:
        return type(error).__qualname__


def _kind(error):
    if isinstance(error, HandlerChildrenRetry):
        return "children"
    if isinstance(error, TemporaryError):
        return "temporary"
    if isinstance(error, AdmissionError):
        return "admission"
    if isinstance(error, PermanentError) or getattr(error, "kind", None) == "permanent" and isinstance(error, RequestError):
        return "permanent"
    return "arbitrary"


def text(error):
    """Return the message of an exception, even if its __str__ fails."""
    try:
        return str(error)
    except Exception as broken:
        return f"{type(error).__name__}, whose __str__ raises {type(broken).__name__}"


def located(error):
    """Return the type and the message of an exception, with the last line of the script that it comes from."""
    message = f"{type(error).__qualname__}: {text(error)}" if text(error) else type(error).__qualname__
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(("lib/", "stdlib/"))]
    return f"{message} ({frames[-1].filename}:{frames[-1].lineno})" if frames else message


def meant(word, names):
    """Return a question about the most similar name, as Python's own messages have it, or an empty text."""
    similar = difflib.get_close_matches(word, sorted(name for name in names if not name.startswith("_")), 1)
    return f". Did you mean: {similar[0]!r}?" if similar else ""


def innermost(error):
    """Return the code that raised an exception; None if it was not raised."""
    *_, at = (None, *traceback.walk_tb(error.__traceback__))
    return at and at[0].f_code


def stack(error):
    """Return the traceback, beginning with the first frame of the script."""
    at = error.__traceback__
    while at is not None and at.tb_frame.f_globals.get("__name__", "").split(".")[0] in ("kopf", "asyncio"):
        at = at.tb_next
    try:
        lines = "".join(traceback.format_exception(type(error), error, at or error.__traceback__))
    except Exception:  # a broken __repr__ or __str__
        lines = "".join(traceback.format_tb(at))
    return lines.rstrip()[-_MAX_STACK:]
