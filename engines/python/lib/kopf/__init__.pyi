import datetime
import enum
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Generator, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Literal, NamedTuple, NewType, NoReturn, Protocol, TypedDict, TypeVar, overload

from kopf import lifecycles as lifecycles, on as on
from kopf.lifecycles import get_default_lifecycle as get_default_lifecycle, set_default_lifecycle as set_default_lifecycle
from kopf.on import daemon as daemon, index as index, register as register, subhandler as subhandler, timer as timer

_Callback = Callable[..., bool]
_Objects = Any  # dicts, objects of pykube or of the official client, and lists of them
_Backoffs = float | Iterable[float] | None

__version__: str
FieldPath = tuple[str, ...]
FieldSpec = str | FieldPath | list[str] | None
HandlerId = NewType("HandlerId", str)
Logger = logging.Logger | logging.LoggerAdapter[Any]
Labels = Mapping[str, str]
Annotations = Mapping[str, str]
Headers = dict[str, str]
SSLPeer = dict[str, Any]
Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
RawEventType = Literal[None, "ADDED", "MODIFIED", "DELETED", "BOOKMARK"]
AiohttpSession = Any

class _Token(enum.Enum):
    PRESENT = ...
    ABSENT = ...

class _Marker(enum.Enum):
    EVERYTHING = ...

PRESENT: _Token
ABSENT: _Token
EVERYTHING: _Marker

class RawBody(TypedDict, total=False):
    apiVersion: str
    kind: str
    metadata: dict[str, Any]
    spec: dict[str, Any]
    status: dict[str, Any]

class RawEvent(TypedDict, total=True):
    type: RawEventType
    object: RawBody

class BodyEssence(TypedDict, total=False):
    metadata: dict[str, Any]
    spec: dict[str, Any]
    status: dict[str, Any]

class ObjectReference(TypedDict, total=False):
    apiVersion: str
    kind: str
    namespace: str | None
    name: str
    uid: str

class OwnerReference(TypedDict, total=False):
    controller: bool
    blockOwnerDeletion: bool
    apiVersion: str
    kind: str
    name: str
    uid: str

class _View(Mapping[str, Any]):
    def __getitem__(self, key: str, /) -> Any: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...

class Spec(_View): ...
class Status(_View): ...

class Meta(_View):
    @property
    def labels(self) -> Labels: ...
    @property
    def annotations(self) -> Annotations: ...
    @property
    def uid(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str | None: ...
    @property
    def creation_timestamp(self) -> str | None: ...
    @property
    def deletion_timestamp(self) -> str | None: ...

class Body(_View):
    def __init__(self, source: Mapping[str, Any]) -> None: ...
    @property
    def metadata(self) -> Meta: ...
    @property
    def meta(self) -> Meta: ...
    @property
    def spec(self) -> Spec: ...
    @property
    def status(self) -> Status: ...

def build_object_reference(body: Mapping[str, Any]) -> ObjectReference: ...
def build_owner_reference(
    body: Mapping[str, Any], *, controller: bool | None = True, block_owner_deletion: bool | None = True) -> OwnerReference: ...

PatchFn = Callable[[RawBody], None]

class MetaPatch(MutableMapping[str, Any]):
    def __getitem__(self, key: str, /) -> Any: ...
    def __setitem__(self, key: str, value: Any, /) -> None: ...
    def __delitem__(self, key: str, /) -> None: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    @property
    def labels(self) -> MutableMapping[str, str | None]: ...
    @property
    def annotations(self) -> MutableMapping[str, str | None]: ...

class Patch(dict[str, Any]):
    def __init__(self, src: dict[str, Any] | None = None, /, body: Body | None = None, fns: Iterable[PatchFn] = ()) -> None: ...
    @property
    def fns(self) -> list[PatchFn]: ...
    @property
    def metadata(self) -> MetaPatch: ...
    @property
    def meta(self) -> MetaPatch: ...
    @property
    def spec(self) -> MutableMapping[str, Any]: ...
    @property
    def status(self) -> MutableMapping[str, Any]: ...
    def as_json_patch(self, body: Mapping[str, Any] | None = None) -> list[dict[str, Any]]: ...

class DiffOperation(enum.StrEnum):
    ADD = "add"
    CHANGE = "change"
    REMOVE = "remove"

class DiffItem(NamedTuple):
    operation: DiffOperation
    field: FieldPath
    old: Any
    new: Any
    @property
    def op(self) -> DiffOperation: ...

class Diff(Sequence[DiffItem]):
    def __init__(self, items: Iterable[Any] = ()) -> None: ...
    @overload
    def __getitem__(self, position: int) -> DiffItem: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[DiffItem]: ...
    def __len__(self) -> int: ...

class Memo(dict[Any, Any]):
    def __getattr__(self, key: str) -> Any: ...
    def __setattr__(self, key: str, value: Any) -> None: ...
    def __delattr__(self, key: str) -> None: ...

_K = TypeVar("_K")
_V = TypeVar("_V")

class Store(Collection[_V]):
    def __contains__(self, value: object, /) -> bool: ...
    def __iter__(self) -> Iterator[_V]: ...
    def __len__(self) -> int: ...

class Index(Mapping[_K, Store[_V]]):
    def __getitem__(self, key: _K, /) -> Store[_V]: ...
    def __iter__(self) -> Iterator[_K]: ...
    def __len__(self) -> int: ...

class Reason(enum.StrEnum):
    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    RESUME = "resume"
    NOOP = "noop"
    FREE = "free"
    GONE = "gone"

class Resource:
    group: str
    version: str
    plural: str
    kind: str | None
    singular: str | None
    shortcuts: frozenset[str]
    categories: frozenset[str]
    subresources: frozenset[str]
    namespaced: bool | None
    preferred: bool
    verbs: frozenset[str]
    def get_url(
        self, *, server: str | None = None, namespace: str | None = None, name: str | None = None, subresource: str | None = None,
        params: dict[str, str] | None = None) -> str: ...

class ErrorsMode(enum.Enum):
    IGNORED = ...
    TEMPORARY = ...
    PERMANENT = ...

class PermanentError(Exception): ...

class TemporaryError(Exception):
    delay: float | None
    def __init__(self, message: str | None = None, delay: float | None = 60) -> None: ...

class HandlerTimeoutError(PermanentError): ...
class HandlerRetriesError(PermanentError): ...
class LoginError(Exception): ...

class AdmissionError(PermanentError):
    code: int | None
    def __init__(self, message: str | None = "", code: int | None = 500) -> None: ...

class RequestError(Exception):
    code: str
    kind: str

class APIError(Exception):
    status: int
    reason: str
    body: Any

def not_(fn: _Callback) -> _Callback: ...
def all_(fns: Collection[_Callback]) -> _Callback: ...
def any_(fns: Collection[_Callback]) -> _Callback: ...
def none_(fns: Collection[_Callback]) -> _Callback: ...

class DaemonStoppingReason(enum.Flag):
    DONE = ...
    FILTERS_MISMATCH = ...
    RESOURCE_DELETED = ...
    OPERATOR_PAUSING = ...
    OPERATOR_EXITING = ...
    DAEMON_SIGNALLED = ...
    DAEMON_CANCELLED = ...
    DAEMON_ABANDONED = ...

class DaemonStopped:
    def __bool__(self) -> bool: ...
    def is_set(self) -> bool: ...
    @property
    def reason(self) -> DaemonStoppingReason | None: ...
    def wait(self, timeout: float | None = None) -> DaemonStopped: ...
    def __await__(self) -> Generator[Any, None, DaemonStopped]: ...

class SyncDaemonStopperChecker(DaemonStopped): ...
class AsyncDaemonStopperChecker(DaemonStopped): ...

async def execute(
    *, fns: Mapping[str, Callable[..., Any]] | Iterable[Callable[..., Any]] | None = None, handlers: None = None, registry: None = None,
    lifecycle: Callable[..., Any] | None = None, cause: None = None) -> None: ...

def event(objs: _Objects, *, type: str, reason: str, message: str = "", backoffs: _Backoffs = None) -> None: ...
def info(objs: _Objects, *, reason: str, message: str = "", backoffs: _Backoffs = None) -> None: ...
def warn(objs: _Objects, *, reason: str, message: str = "", backoffs: _Backoffs = None) -> None: ...
def exception(
    objs: _Objects, *, reason: str = "", message: str = "", exc: BaseException | None = None, backoffs: _Backoffs = None) -> None: ...

def adopt(
    objs: _Objects, owner: Mapping[str, Any] | None = None, *, forced: bool = False, strict: bool = False,
    nested: str | Iterable[FieldSpec] | None = None) -> None: ...
def label(
    objs: _Objects, labels: Mapping[str, str | None] = ..., *, forced: bool = False, nested: str | Iterable[FieldSpec] | None = None,
    force: bool | None = None) -> None: ...
def harmonize_naming(objs: _Objects, name: str | None = ..., *, forced: bool = False, strict: bool = False) -> None: ...
def adjust_namespace(objs: _Objects, namespace: str | None = ..., *, forced: bool = False) -> None: ...
def append_owner_reference(
    objs: _Objects, owner: Mapping[str, Any] | None = None, *, controller: bool | None = True,
    block_owner_deletion: bool | None = True) -> None: ...
def remove_owner_reference(objs: _Objects, owner: Mapping[str, Any] | None = None) -> None: ...

class LogFormat(enum.Enum):
    PLAIN = ...
    FULL = ...
    JSON = ...

class ObjectLogger(logging.LoggerAdapter[Any]): ...
class LocalObjectLogger(ObjectLogger): ...

def configure(
    debug: bool | None = None, verbose: bool | None = None, quiet: bool | None = None, log_format: LogFormat = ...,
    log_prefix: bool | None = False, log_refkey: str | None = None) -> None: ...

class OperatorRegistry: ...

def get_default_registry() -> OperatorRegistry: ...
def set_default_registry(registry: OperatorRegistry) -> None: ...

# The groups of settings: attributes that startup handlers set.
class _Process:
    ultimate_exiting_timeout: float | None

class _Posting:
    enabled: bool
    loggers: bool
    level: int
    default_backoffs: Iterable[float]
    logging_backoffs: Iterable[float]
    worker_limit: int | None
    idle_timeout: float
    reporting_component: str
    reporting_instance: str
    event_name_prefix: str

class _Peering:
    name: str
    stealth: bool
    priority: int
    lifetime: float
    mandatory: bool
    standalone: bool
    clusterwide: bool
    namespaced: bool

class _Watching:
    server_timeout: float | None
    client_timeout: float | None
    connect_timeout: float | None
    reconnect_backoff: float
    inactivity_timeout: float | None
    chunk_size: int | None
    initial_streaming: bool
    label_selectors: MutableMapping[Any, str]
    field_selectors: MutableMapping[Any, str]
    shard_selectors: MutableMapping[Any, str]

class _Queueing:
    worker_limit: int | None
    idle_timeout: float
    exit_timeout: float
    error_delays: Iterable[float]

class _Scanning:
    disabled: bool

class _Admission:
    server: WebhookServerProtocol | None
    managed: str | None

class _Execution:
    default_backoff: float
    max_workers: int | None
    executor: None

class _Background:
    cancellation_polling: float
    instant_exit_timeout: float | None
    instant_exit_zero_time_cycles: int | None

class _Networking:
    request_timeout: float | None
    connect_timeout: float | None
    error_backoffs: Iterable[float]
    enforce_retry_after: bool
    trust_env: bool

class _Persistence:
    finalizer: str
    progress_storage: ProgressStorage
    diffbase_storage: DiffBaseStorage
    consistency_timeout: float

class OperatorSettings:
    def __init__(self) -> None: ...
    @property
    def process(self) -> _Process: ...
    @property
    def posting(self) -> _Posting: ...
    @property
    def peering(self) -> _Peering: ...
    @property
    def watching(self) -> _Watching: ...
    @property
    def queueing(self) -> _Queueing: ...
    @property
    def scanning(self) -> _Scanning: ...
    @property
    def admission(self) -> _Admission: ...
    @property
    def execution(self) -> _Execution: ...
    @property
    def background(self) -> _Background: ...
    @property
    def networking(self) -> _Networking: ...
    @property
    def persistence(self) -> _Persistence: ...
    @property
    def batching(self) -> _Queueing: ...

class ConnectionInfo:
    server: str
    priority: int
    default_namespace: str | None
    expiration: datetime.datetime | None
    def __init__(
        self, *, server: str = "", ca_path: str | None = None, ca_data: str | bytes | None = None, insecure: bool | None = None,
        username: str | None = None, password: str | None = None, scheme: str | None = None, token: str | None = None,
        certificate_path: str | None = None, certificate_data: str | bytes | None = None, private_key_path: str | None = None,
        private_key_data: str | bytes | None = None, default_namespace: str | None = None, proxy_url: str | None = None,
        trust_env: bool = False, priority: int = 0, expiration: datetime.datetime | None = None, login: str | None = None) -> None: ...

def login_with_service_account(**_: Any) -> ConnectionInfo | None: ...
def login_with_kubeconfig(**_: Any) -> ConnectionInfo | None: ...
def login_via_client(**_: Any) -> ConnectionInfo | None: ...
def login_via_pykube(**_: Any) -> ConnectionInfo | None: ...
async def login_via_async_client(**_: Any) -> ConnectionInfo | None: ...

class ProgressRecord(TypedDict, total=True):
    started: str | None
    stopped: str | None
    delayed: str | None
    purpose: str | None
    retries: int | None
    success: bool | None
    failure: bool | None
    message: str | None
    subrefs: list[str] | None

class ProgressStorage: ...
class DiffBaseStorage: ...

class AnnotationsProgressStorage(ProgressStorage):
    def __init__(self, *, prefix: str = ..., verbose: bool = False, touch_key: str = ..., v1: bool = True) -> None: ...

class StatusProgressStorage(ProgressStorage):
    def __init__(self, *, name: str = "kopf", field: FieldSpec = ..., touch_field: FieldSpec = ...) -> None: ...

class SmartProgressStorage(ProgressStorage):
    def __init__(
        self, *, name: str = "kopf", field: FieldSpec = ..., touch_key: str = ..., touch_field: FieldSpec = ..., prefix: str = ...,
        v1: bool = True, verbose: bool = False) -> None: ...

class MultiProgressStorage(ProgressStorage):
    def __init__(self, storages: Collection[ProgressStorage]) -> None: ...

class AnnotationsDiffBaseStorage(DiffBaseStorage):
    def __init__(
        self, *, prefix: str = ..., key: str = ..., v1: bool = True, ignored_fields: Iterable[FieldSpec] | None = None) -> None: ...

class StatusDiffBaseStorage(DiffBaseStorage):
    def __init__(self, *, name: str = "kopf", field: FieldSpec = ..., ignored_fields: Iterable[FieldSpec] | None = None) -> None: ...

class MultiDiffBaseStorage(DiffBaseStorage):
    def __init__(self, storages: Collection[DiffBaseStorage]) -> None: ...

class UserInfo(TypedDict):
    username: str
    uid: str
    groups: list[str]

class WebhookClientConfigService(TypedDict, total=False):
    namespace: str | None
    name: str | None
    path: str | None
    port: int | None

class WebhookClientConfig(TypedDict, total=False):
    caBundle: str | None
    url: str | None
    service: WebhookClientConfigService | None

class WebhookFn(Protocol):
    def __call__(
        self, request: Any, *, webhook: str | None = None, headers: Headers | None = None,
        sslpeer: SSLPeer | None = None) -> Awaitable[Any]: ...

WebhookServerProtocol = Callable[[WebhookFn], AsyncIterator[WebhookClientConfig]]

class WebhookServer:
    def __init__(
        self, *, addr: str | None = None, port: int | None = None, path: str | None = None, host: str | None = None,
        cadata: bytes | None = None, cafile: str | None = None, cadump: str | None = None, context: None = None, insecure: bool = False,
        certfile: str | None = None, pkeyfile: str | None = None, password: str | None = None, extra_sans: Iterable[str] = (),
        verify_mode: Any = None, verify_cafile: str | None = None, verify_capath: str | None = None,
        verify_cadata: str | bytes | None = None, file_check_interval: float = 60) -> None: ...
    def __call__(self, fn: WebhookFn) -> AsyncIterator[WebhookClientConfig]: ...

class WebhookK3dServer(WebhookServer): ...
class WebhookMinikubeServer(WebhookServer): ...
class WebhookDockerDesktopServer(WebhookServer): ...
class WebhookAutoServer(WebhookServer): ...

class WebhookNgrokTunnel:
    def __init__(
        self, *, addr: str | None = None, port: int | None = None, path: str | None = None, token: str | None = None,
        region: str | None = None, binary: str | None = None) -> None: ...
    def __call__(self, fn: WebhookFn) -> AsyncIterator[WebhookClientConfig]: ...

class WebhookAutoTunnel:
    def __init__(self, *, addr: str | None = None, port: int | None = None, path: str | None = None) -> None: ...
    def __call__(self, fn: WebhookFn) -> AsyncIterator[WebhookClientConfig]: ...

def run(*args: Any, **kwargs: Any) -> NoReturn: ...
def operator(*args: Any, **kwargs: Any) -> NoReturn: ...
def run_tasks(*args: Any, **kwargs: Any) -> NoReturn: ...
def spawn_tasks(*args: Any, **kwargs: Any) -> NoReturn: ...

# What the reference does not have.

def config(key: str) -> str | None:
    """Return a value of the configuration, secrets included; None without it or without the grant."""

def wants(
    *, kubernetes: Iterable[Mapping[str, Any]] | None = None, http: Iterable[str] | None = None,
    config: Iterable[str] | None = None) -> None:
    """Declare the rights that the operator needs; the administrator grants them."""

class Response:
    status: int
    status_code: int
    headers: dict[str, str]
    body: bytes
    @property
    def ok(self) -> bool: ...
    @property
    def text(self) -> str: ...
    def json(self) -> Any: ...

class API:
    # Awaitable in async functions, the value in sync functions and with blocking=True.
    def get(self, name: str) -> Any: ...
    def text(self, name: str, **query: str | int) -> Any: ...
    def list(self, *, labels: str | None = None, fields: str | None = None, page: int = 100) -> Any: ...
    def create(self, obj: Any) -> Any: ...
    def update(self, obj: Any) -> Any: ...
    def apply(self, obj: Any, *, force: bool = False) -> Any: ...
    def patch(self, name: str, patch: Any, *, type: str = "merge") -> Any: ...
    def delete(self, name: str, options: Mapping[str, Any] | None = None) -> Any: ...

def api(
    version: str, plural: str, *, namespace: str | None = ..., subresource: str | None = None, manager: str | None = None,
    blocking: bool | None = None) -> API:
    """Return a client for a resource: `await kopf.api('v1', 'pods').get('x')`."""

def fetch(
    url: str, *, method: str | None = None, headers: Mapping[str, str | Iterable[str]] | None = None, body: str | bytes | None = None,
    json: Any = ..., timeout: float | None = None, blocking: bool | None = None) -> Any:
    """Make a request to a granted HTTP server."""
