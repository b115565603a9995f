from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol, TypedDict, TypeVar

from typing_extensions import Unpack

from kopf import ErrorsMode, FieldSpec, Operation, OperatorRegistry, Resource, _Marker, _Token

_FnT = TypeVar("_FnT", bound=Callable[..., Any])

class _Decorator(Protocol):
    def __call__(self, fn: _FnT, /) -> _FnT: ...

_Part = str | _Marker | Callable[[Resource], bool]
_Filters = Mapping[str, str | _Token | Callable[..., bool]]

class _Activity(TypedDict, total=False):
    id: str | None
    param: Any
    errors: ErrorsMode | None
    timeout: float | None
    retries: int | None
    backoff: float | None
    registry: OperatorRegistry | None

class _Resource(TypedDict, total=False):
    group: str | None
    version: str | None
    kind: str | None
    plural: str | None
    singular: str | None
    shortcut: str | None
    category: str | None

class _Selecting(_Resource, total=False):
    id: str | None
    param: Any
    labels: _Filters | None
    annotations: _Filters | None
    when: Callable[..., bool] | None
    value: Any
    registry: OperatorRegistry | None

class _Attempting(TypedDict, total=False):
    errors: ErrorsMode | None
    timeout: float | None
    retries: int | None
    backoff: float | None

class _Watching(_Selecting, total=False):
    field: FieldSpec

class _Changing(_Watching, _Attempting, total=False): ...

class _Updating(_Changing, total=False):
    old: Any
    new: Any

class _Fielding(_Selecting, _Attempting, total=False):
    old: Any
    new: Any

class _Deleting(_Changing, total=False):
    optional: bool | None

class _Resuming(_Changing, total=False):
    deleted: bool | None

class _Reviewing(_Watching, total=False):
    operation: Operation | None
    operations: Collection[Operation] | None
    subresource: str | None
    persistent: bool | None
    side_effects: bool | None
    ignore_failures: bool | None

class _Timing(_Changing, total=False):
    interval: float | None
    initial_delay: float | Callable[..., float] | None
    sharp: bool | None
    idle: float | None

class _Running(_Changing, total=False):
    initial_delay: float | Callable[..., float] | None
    cancellation_backoff: float | None
    cancellation_timeout: float | None
    cancellation_polling: float | None

class _Converting(_Resource, total=False):
    id: str | None
    param: Any
    from_: str | list[str] | None
    to: str | list[str] | None
    registry: OperatorRegistry | None

def startup(**options: Unpack[_Activity]) -> _Decorator: ...
def cleanup(**options: Unpack[_Activity]) -> _Decorator: ...
def login(**options: Unpack[_Activity]) -> _Decorator: ...
def probe(**options: Unpack[_Activity]) -> _Decorator: ...
def validate(*resource: _Part, **options: Unpack[_Reviewing]) -> _Decorator: ...
def mutate(*resource: _Part, **options: Unpack[_Reviewing]) -> _Decorator: ...
def convert(*resource: _Part, **options: Unpack[_Converting]) -> _Decorator: ...
def create(*resource: _Part, **options: Unpack[_Changing]) -> _Decorator: ...
def update(*resource: _Part, **options: Unpack[_Updating]) -> _Decorator: ...
def delete(*resource: _Part, **options: Unpack[_Deleting]) -> _Decorator: ...
def resume(*resource: _Part, **options: Unpack[_Resuming]) -> _Decorator: ...
def field(*resource: _Part, field: FieldSpec, **options: Unpack[_Fielding]) -> _Decorator: ...
def event(*resource: _Part, **options: Unpack[_Watching]) -> _Decorator: ...
def index(*resource: _Part, **options: Unpack[_Changing]) -> _Decorator: ...
def timer(*resource: _Part, **options: Unpack[_Timing]) -> _Decorator: ...
def daemon(*resource: _Part, **options: Unpack[_Running]) -> _Decorator: ...
def subhandler(
    *, id: str | None = None, param: Any = None, errors: ErrorsMode | None = None, timeout: float | None = None,
    retries: int | None = None, backoff: float | None = None, labels: _Filters | None = None, annotations: _Filters | None = None,
    when: Callable[..., bool] | None = None, field: FieldSpec = None, value: Any = None, old: Any = None, new: Any = None,
) -> _Decorator: ...
def register(
    fn: _FnT, *, id: str | None = None, param: Any = None, errors: ErrorsMode | None = None, timeout: float | None = None,
    retries: int | None = None, backoff: float | None = None, labels: _Filters | None = None, annotations: _Filters | None = None,
    when: Callable[..., bool] | None = None,
) -> _FnT: ...
