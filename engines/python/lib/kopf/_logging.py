"""Loggers: what the script logs goes to the log of the host."""

import enum
import logging
import traceback

from kopf import _context, _host

logger = logging.getLogger("kopf.objects")


class LogFormat(enum.Enum):
    """Formats of lines. The host formats: see the option --log-format of `kopf run`."""

    PLAIN = "%(message)s"
    FULL = "[%(asctime)s] %(name)-20.20s [%(levelname)-8.8s] %(message)s"
    JSON = "-json-"


class ObjectLogger(logging.LoggerAdapter):
    """A logger with the reference of the object in its records."""

    def __init__(self, *, body, settings=None):
        super().__init__(logger, {})
        self._body = body

    @property
    def extra(self):
        meta = self._body.get("metadata") or {}
        return {"k8s_skip": False, "k8s_ref": {
            "apiVersion": self._body.get("apiVersion"), "kind": self._body.get("kind"),
            "name": meta.get("name"), "uid": meta.get("uid"), "namespace": meta.get("namespace"),
        }}

    @extra.setter
    def extra(self, value):
        pass  # the reference is made when a line is logged

    def process(self, msg, kwargs):
        kwargs["extra"] = self.extra | dict(kwargs.get("extra") or {})
        return msg, kwargs


class LocalObjectLogger(ObjectLogger):
    """The same; its lines are not posted as events."""

    def log(self, *args, **kwargs):
        kwargs["extra"] = dict(kwargs.pop("extra", None) or {}, k8s_skip=True)
        super().log(*args, **kwargs)


class _ToHost(logging.Handler):
    """Hands records to the host."""

    def __init__(self):
        super().__init__()
        self.lock = None  # there are no threads

    def createLock(self):
        self.lock = None

    def handle(self, record):
        if self.filter(record):
            self.emit(record)
            return record
        return False

    def emit(self, record):
        try:
            text = record.getMessage()
            if record.exc_info and record.exc_info[0] is not None:
                text += "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip()
            if record.stack_info:
                text += "\n" + record.stack_info
        except Exception as error:
            text = f"{record.msg!r} cannot be logged with {record.args!r}: {type(error).__name__}: {error}"
        _host.log(_number(record), record.levelno, text)


def _number(record):
    """Return the number of the task of a record: of the handled object, or of an activity. It is 0 for what other loggers say: as in
    the reference, such lines do not name the object, and are not posted as events."""
    of_object = getattr(record, "k8s_ref", None) and not getattr(record, "k8s_skip", False)
    return _context.number() if of_object or record.name.startswith("kopf.activities.") else 0


def install():
    """Send all logs to the host, which decides what is shown."""
    logging.raiseExceptions = False
    handler = _ToHost()
    for known in (logging.root, logging.getLogger("kopf")):  # the second one keeps it if the script gives other handlers to the first one
        known.handlers[:] = [handler]
    logging.getLogger("kopf").propagate = False
    logging.root.setLevel(logging.DEBUG)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    logging.captureWarnings(True)


def configure(debug=None, verbose=None, quiet=None, log_format=LogFormat.FULL, log_prefix=False, log_refkey=None):
    """Do nothing: the host configures logs, by the options of `kopf run`."""
