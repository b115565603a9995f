"""An operator for KopfExamples that makes the requests of `spec.do`, as ../../go/caller does.

The configuration chooses what it wants (JSON), what else it registers (daemon, startup), and
whether its functions are sync: then its requests block.
"""

import asyncio
import json
import os

import kopf

BLOCKING = "blocking" in os.environ
REASONS = {"NotFound": "not found", "AlreadyExists": "already exists", "Conflict": "conflict", "Forbidden": "forbidden", "Invalid": "invalid"}

if os.environ.get("want"):
    kopf.wants(**json.loads(os.environ["want"]))


async def request(step, blocking=None):
    """Make a request, and describe how it ended."""
    try:
        return {"ok": await value_of(step, blocking)}
    except kopf.RequestError as error:
        return {"refused": error.code, "message": str(error)}
    except kopf.APIError as error:
        return {"failed": error.status, "reason": error.reason, "message": str(error), "kind": REASONS.get(error.reason, "")}


async def value_of(step, blocking):
    answer = fetched(step["fetch"], blocking) if "fetch" in step else called(step, blocking)
    if not blocking:
        answer = await answer
    if "fetch" in step:
        return {"status": answer.status, "body": answer.text, "size": len(answer.body), "type": [answer.headers.get("content-type")]}
    if step["verb"] == "list":
        return [found["metadata"]["name"] for found in answer]
    return None if step["verb"] == "delete" else answer


def fetched(fetch, blocking):
    body = {"body": b"\0\xff\xfe"} if "binary" in fetch else {}
    if "body" in fetch:
        body = {"body" if isinstance(fetch["body"], str) else "json": fetch["body"]}
    return kopf.fetch(fetch["url"], method=fetch.get("method"), headers=fetch.get("header"), timeout=fetch.get("timeout"), blocking=blocking, **body)


def called(step, blocking):
    within = {"namespace": step["namespace"]} if "namespace" in step else {}
    api = kopf.api(step["version"], step["plural"], subresource=step.get("subresource"), blocking=blocking, **within)
    name, sent = step.get("name"), step.get("object")
    return {
        "get": lambda: api.get(name),
        "list": lambda: api.list(labels=step.get("labels"), page=step.get("page", 100)),
        "create": lambda: api.create(sent),
        "update": lambda: api.update(sent),
        "apply": lambda: api.apply(sent, force=step.get("force", False)),
        "patch": lambda: api.patch(name, sent),
        "edit": lambda: api.patch(name, sent, type="json"),
        "delete": lambda: api.delete(name, {"preconditions": {"uid": step["uid"]}} if "uid" in step else None),
    }[step["verb"]]()


def run(coroutine):
    """Run a coroutine that never waits: its requests block."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the request has not blocked")


def sync_requests(spec, **_):
    return [run(request(step, True)) for step in spec["do"]]


async def requests(spec, **_):
    return [await request(step) for step in spec["do"]]


def sync_daemon(spec, logger, **_):
    ended = run(request(spec["do"][0], True))
    logger.info(f"the request of the daemon was cancelled code={ended['refused']} cancelled=true")


async def daemon(spec, logger, **_):
    try:
        await request(spec["do"][0])
    except asyncio.CancelledError:
        logger.info("the request of the daemon was cancelled code=Cancelled cancelled=true")
        raise


def sync_startup(**_):
    kopf.api("v1", "namespaces", namespace=None).get("default")


async def startup(**_):
    await kopf.api("v1", "namespaces", namespace=None).get("default")


match os.environ.get("register"):
    case "daemon":
        kopf.daemon("kopfexamples", id="daemon", cancellation_timeout=10)(sync_daemon if BLOCKING else daemon)
    case "startup":
        kopf.on.startup(id="startup", retries=1)(sync_startup if BLOCKING else startup)
    case _:
        kopf.on.create("kopfexamples", id="requests", backoff=1)(sync_requests if BLOCKING else requests)
