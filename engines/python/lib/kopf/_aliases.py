"""Modules of the reference that operators import, as `kopf._core.actions.execution`, which are private, and `kopf.cli`.

They are made here, of names that exist in this package, when the script is loaded.
"""

import importlib
import sys
import types

# By modules of the reference: names, and the modules that have them here; "" is kopf itself.
_MODULES = {
    "_cogs.configs.configuration": {"OperatorSettings": "_settings"},
    "_cogs.configs.diffbase": dict.fromkeys(
        ("DiffBaseStorage", "AnnotationsDiffBaseStorage", "StatusDiffBaseStorage", "MultiDiffBaseStorage"), "_storages"),
    "_cogs.configs.progress": dict.fromkeys(
        ("ProgressRecord", "ProgressStorage", "AnnotationsProgressStorage", "StatusProgressStorage", "MultiProgressStorage",
         "SmartProgressStorage"), "_storages"),
    "_cogs.helpers.typedefs": {"Logger": ""},
    "_cogs.structs.bodies": dict.fromkeys(
        ("RawEventType", "RawEvent", "RawBody", "RawMeta", "Status", "Spec", "Meta", "Body", "BodyEssence", "MetaEssence", "Labels",
         "Annotations", "OwnerReference", "ObjectReference", "build_object_reference", "build_owner_reference"), "_bodies"),
    "_cogs.structs.credentials": {"ConnectionInfo": "_credentials", "LoginError": "_errors"},
    "_cogs.structs.dicts": {
        **dict.fromkeys(("parse_field", "resolve", "MappingView", "MutableMappingView"), "_views"), "FieldPath": "", "FieldSpec": ""},
    "_cogs.structs.diffs": dict.fromkeys(("Diff", "DiffItem", "DiffOperation", "diff"), "_diffs"),
    "_cogs.structs.ephemera": {"Memo": "_memos", "Index": "_indices", "Store": "_indices"},
    "_cogs.structs.ids": {"HandlerId": ""},
    "_cogs.structs.patches": dict.fromkeys(("Patch", "PatchFn"), "_patches"),
    "_cogs.structs.references": {
        "Resource": "_references", "Selector": "_references", "EVERYTHING": "_filters", "Marker": "_filters"},
    "_cogs.structs.reviews": dict.fromkeys(
        ("Headers", "SSLPeer", "Operation", "UserInfo", "WebhookFn", "WebhookClientConfig"), "_webhooks"),
    "_core.actions.execution": {
        **dict.fromkeys(("PermanentError", "TemporaryError", "HandlerTimeoutError", "HandlerRetriesError", "HandlerChildrenRetry",
                         "ErrorsMode"), "_errors"),
        "handler_var": "_context"},
    "_core.actions.lifecycles": dict.fromkeys(
        ("all_at_once", "one_by_one", "randomized", "shuffled", "asap", "get_default_lifecycle", "set_default_lifecycle"), "lifecycles"),
    "_core.actions.loggers": dict.fromkeys(("ObjectLogger", "LocalObjectLogger", "LogFormat", "configure"), "_logging"),
    "_core.engines.admission": {"AdmissionError": "_errors"},
    "_core.engines.posting": dict.fromkeys(("event", "info", "warn", "exception"), "_events"),
    "_core.intents.callbacks": dict.fromkeys(("not_", "all_", "any_", "none_"), "_filters"),
    "_core.intents.causes": {"Reason": "_kwargs", "Activity": "_kwargs"},
    "_core.intents.filters": dict.fromkeys(("ABSENT", "PRESENT", "MetaFilterToken"), "_filters"),
    "_core.intents.piggybacking": dict.fromkeys(
        ("login_via_pykube", "login_via_client", "login_via_async_client", "login_with_kubeconfig", "login_with_service_account"),
        "_credentials"),
    "_core.intents.registries": dict.fromkeys(("OperatorRegistry", "get_default_registry", "set_default_registry"), "_registry"),
    "_core.intents.stoppers": dict.fromkeys(
        ("DaemonStopped", "DaemonStoppingReason", "SyncDaemonStopperChecker", "AsyncDaemonStopperChecker"), "_stoppers"),
    "_core.reactor.running": dict.fromkeys(("run", "operator", "run_tasks", "spawn_tasks"), "_absent"),
    "_core.reactor.subhandling": {"execute": "_children"},
    "_kits.hierarchies": dict.fromkeys(
        ("adopt", "label", "harmonize_naming", "adjust_namespace", "append_owner_reference", "remove_owner_reference"), "_hierarchies"),
    "_kits.runner": {"KopfRunner": "testing"},
    "_kits.webhooks": dict.fromkeys(
        ("WebhookServer", "WebhookK3dServer", "WebhookMinikubeServer", "WebhookDockerDesktopServer", "WebhookNgrokTunnel",
         "WebhookAutoServer", "WebhookAutoTunnel"), "_webhooks"),
    "cli": {"main": "_absent"},
}


def install():
    """Make the modules."""
    for path, names in _MODULES.items():
        module = _module("kopf." + path)
        for name, source in names.items():
            setattr(module, name, getattr(importlib.import_module(f"kopf.{source}".rstrip(".")), name))


def _module(name):
    """Return a module of a dotted name, with the packages that it is in."""
    if name not in sys.modules:
        made = types.ModuleType(name, "A module of the reference: its names are public ones of kopf, too.")
        made.__path__ = []
        sys.modules[name] = made
        parent, _, last = name.rpartition(".")
        setattr(_module(parent), last, made)
    return sys.modules[name]
