"""Kopf: operators for Kubernetes in Python, in a sandbox. The names are those of the reference."""

from logging import Logger as _Logger, LoggerAdapter as _LoggerAdapter
from typing import NewType as _NewType

from kopf import lifecycles, on
from kopf._absent import operator, run, run_tasks, spawn_tasks
from kopf._bodies import (
    Annotations, Body, BodyEssence, Labels, Meta, ObjectReference, OwnerReference, RawBody, RawEvent, RawEventType, Spec, Status,
    build_object_reference, build_owner_reference,
)
from kopf._children import execute, register, subhandler
from kopf._credentials import (
    AiohttpSession, ConnectionInfo, login_via_async_client, login_via_client, login_via_pykube, login_with_kubeconfig,
    login_with_service_account,
)
from kopf._diffs import Diff, DiffItem, DiffOperation
from kopf._errors import (
    AdmissionError, APIError, ErrorsMode, HandlerRetriesError, HandlerTimeoutError, LoginError, PermanentError, RequestError, TemporaryError,
)
from kopf._events import event, exception, info, warn
from kopf._filters import ABSENT, EVERYTHING, PRESENT, all_, any_, none_, not_
from kopf._hierarchies import adjust_namespace, adopt, append_owner_reference, harmonize_naming, label, remove_owner_reference
from kopf._host import config
from kopf._indices import Index, Store
from kopf._kwargs import Reason
from kopf._logging import LocalObjectLogger, LogFormat, ObjectLogger, configure
from kopf._memos import Memo
from kopf._patches import Patch, PatchFn
from kopf._references import Resource
from kopf._registry import OperatorRegistry, get_default_registry, set_default_registry, wants
from kopf._requests import API, Response, api, fetch
from kopf._settings import OperatorSettings
from kopf._stoppers import AsyncDaemonStopperChecker, DaemonStopped, DaemonStoppingReason, SyncDaemonStopperChecker
from kopf._storages import (
    AnnotationsDiffBaseStorage, AnnotationsProgressStorage, DiffBaseStorage, MultiDiffBaseStorage, MultiProgressStorage, ProgressRecord,
    ProgressStorage, SmartProgressStorage, StatusDiffBaseStorage, StatusProgressStorage,
)
from kopf._webhooks import (
    Headers, Operation, SSLPeer, UserInfo, WebhookAutoServer, WebhookAutoTunnel, WebhookClientConfig, WebhookClientConfigService,
    WebhookDockerDesktopServer, WebhookFn, WebhookK3dServer, WebhookMinikubeServer, WebhookNgrokTunnel, WebhookServer, WebhookServerProtocol,
)
from kopf.lifecycles import get_default_lifecycle, set_default_lifecycle
from kopf.on import daemon, index, timer

FieldPath = tuple[str, ...]
FieldSpec = str | FieldPath | list[str] | None
HandlerId = _NewType("HandlerId", str)
Logger = _Logger | _LoggerAdapter
__version__, __version_tuple__, __commit_id__ = "1.45.2", (1, 45, 2), None  # of the reference that is followed
