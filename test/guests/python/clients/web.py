"""An operator that uses client libraries as their documentation shows, by `spec.by`."""

import asyncio
import http.server
import socket
import urllib.request

import httpx
import kopf
import pykube
import requests
import urllib3
import yaml

# As operators do to keep connections alive, which are those of the host here.
urllib3.connection.HTTPConnection.default_socket_options = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 45), (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 6)]

CHILD = """
apiVersion: v1
kind: ConfigMap
metadata: {name: child, labels: {app: clients}}
data: {by: pykube}
"""


def by_urllib(url):
    with urllib.request.urlopen(f"{url}/echo", data=b"by urllib", timeout=30) as response:
        return response.read().decode()


def by_urllib3(url):
    return urllib3.PoolManager().request("PUT", f"{url}/echo", body="by urllib3").data.decode()


def by_requests(url):
    response = requests.post(f"{url}/echo", params={"q": "ü"}, json={"by": "requests"}, headers={"X-Own": "mine"}, timeout=30)
    response.raise_for_status()
    with requests.Session() as session:
        session.headers["X-Own"] = "the session's"
        again = session.get(f"{url}/echo")
        missing = session.get(f"{url}/status")
    return [response.text, again.text, missing.status_code, missing.text]


def by_httpx(url):
    with httpx.Client(timeout=30) as client:
        return client.put(f"{url}/echo", content=b"by httpx").text


def in_time(url):
    try:
        requests.get(f"{url}/slow", timeout=0.2)
    except requests.exceptions.Timeout as error:
        return type(error).__name__


def redirected(url):
    return requests.get(f"{url}/to?{url}/echo").text


def by_pykube(_):
    api = pykube.HTTPClient(pykube.KubeConfig.from_env())
    child = yaml.safe_load(CHILD)
    kopf.adopt(child)
    made = pykube.ConfigMap(api, child)
    made.create()
    made.patch({"data": {"more": "yes"}})
    found = [found.name for found in pykube.ConfigMap.objects(api).filter(namespace=made.namespace, selector={"app": "clients"})]
    again = pykube.ConfigMap.objects(api).filter(namespace=made.namespace).get(name="child")
    missing = pykube.ConfigMap.objects(api).filter(namespace=made.namespace).get_or_none(name="missing")
    again.delete()
    return [found, again.obj["data"], missing]


def secrets_by_pykube(_):
    api = pykube.HTTPClient(pykube.KubeConfig.from_file())
    return [secret.name for secret in pykube.Secret.objects(api).filter(namespace=pykube.all)]


def watched_by_pykube(_):
    api = pykube.HTTPClient(pykube.KubeConfig.from_env())
    return list(pykube.ConfigMap.objects(api).filter(namespace="default").watch())


def serves(_):
    socket.getaddrinfo("kubernetes.default.svc", 0, flags=socket.AI_CANONNAME)
    http.server.HTTPServer(("", 8080), http.server.BaseHTTPRequestHandler)


def is_async(spec, **_):
    return "async" in spec["by"]


@kopf.on.create("kopfexamples", id="sync", when=kopf.not_(is_async))
def sync_fn(spec, **_):
    return {"value": globals()[spec["by"]](spec.get("url"))}


async def async_httpx(url):
    async with httpx.AsyncClient(timeout=30) as client:
        first, second = await asyncio.gather(client.get(f"{url}/echo", headers={"X-Own": "mine"}), client.post(f"{url}/echo", json=[1]))
    return [first.text, second.text]


async def async_in_time(url):
    try:
        async with httpx.AsyncClient(timeout=0.2) as client:
            await client.get(f"{url}/slow")
    except httpx.TimeoutException as error:
        return type(error).__name__


async def async_deadline(url):
    try:
        async with asyncio.timeout(0.2):
            await kopf.fetch(f"{url}/slow")
    except TimeoutError:
        return (await kopf.fetch(f"{url}/echo")).text


@kopf.on.create("kopfexamples", id="async", when=is_async)
async def async_fn(spec, **_):
    return {"value": await globals()[spec["by"]](spec.get("url"))}
