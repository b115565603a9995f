"""An operator that uses aiohttp and kubernetes_asyncio as their documentation shows, by `spec.by`."""

import asyncio
from distutils.util import strtobool  # as operators read their variables

import aiohttp
import kopf
from kubernetes_asyncio import client, config, watch


@kopf.on.login()
async def login(**_):
    config.load_incluster_config()
    found = client.Configuration.get_default_copy()
    scheme, token = (await found.get_api_key_with_prefix("BearerToken")).split()
    return kopf.ConnectionInfo(server=found.host, ca_path=found.ssl_ca_cert, scheme=scheme, token=token)


@kopf.on.startup()
async def start(memo, **_):
    configuration = client.Configuration()
    config.load_incluster_config(client_configuration=configuration)
    memo.session = aiohttp.ClientSession(headers={"X-Own": "the session's"}, timeout=aiohttp.ClientTimeout(total=30))
    memo.api = client.ApiClient(configuration)


@kopf.on.cleanup()
async def stop(memo, **_):
    await memo.session.close()
    await memo.api.close()


@kopf.on.create("kopfexamples", id="async")
async def fn(spec, memo, namespace, **_):
    return {"value": await globals()[spec["by"]](url=spec.get("url"), memo=memo, namespace=namespace)}


async def exchanged(url, **_):
    async with aiohttp.ClientSession(headers={"X-Own": "mine"}) as session:
        async with session.get(f"{url}/echo", params={"q": "ü"}) as response:
            text = await response.text()
        async with session.post(f"{url}/echo", json=[1]) as response:
            response.raise_for_status()
            made = (await response.read()).decode()
        async with session.get(f"{url}/status") as response:
            missing = [response.status, response.reason]
        try:
            await session.get(f"{url}/status", raise_for_status=True)
        except aiohttp.ClientResponseError as error:
            missing.append(error.status)
    return [text, made, *missing]


async def kept(url, memo, **_):
    """The session of the startup handler, whose loop has ended."""
    async def get():
        async with memo.session.get(f"{url}/echo") as response:
            return await response.text()

    return await asyncio.gather(get(), get())


async def sent(url, **_):
    """Bodies that come in pieces, in both directions."""
    async def pieces():
        for piece in b"one", b"two":
            await asyncio.sleep(0)
            yield piece

    size, lines = 0, []
    async with aiohttp.ClientSession() as session:
        async with session.put(f"{url}/echo", data=pieces()) as response:
            async for line in response.content:
                lines.append(line.decode())
        async with session.get(f"{url}/large") as response:
            async for piece in response.content.iter_chunked(50_000):
                await asyncio.sleep(0)
                size += len(piece)
    return [lines, size]


async def late(url, **_):
    found = []
    for timeout in aiohttp.ClientTimeout(total=0.2), aiohttp.ClientTimeout(sock_read=0.2):
        try:
            async with aiohttp.ClientSession(timeout=timeout) as session:
                await session.get(f"{url}/slow")
        except asyncio.TimeoutError as error:
            found.append(type(error).__name__)
    return found


async def absent(url, **_):
    try:
        async with aiohttp.request("GET", url):
            pass
    except aiohttp.ClientConnectionError as error:
        return isinstance(error, OSError)


async def redirected(url, **_):
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=bool(strtobool("no")))) as session, session.get(f"{url}/to?{url}/echo") as response:
        return await response.text()


async def upgraded(url, memo, **_):
    await memo.session.ws_connect(f"{url}/echo")


async def maps(namespace, memo, **_):
    """Make a config map, change it, list, delete it, and look for it again."""
    api = client.CoreV1Api(memo.api)
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="child", labels={"a": "b"}), data={"by": "aio"})
    made = await api.create_namespaced_config_map(namespace, body)
    await api.patch_namespaced_config_map("child", namespace, {"data": {"more": "yes"}})
    found = [[item.metadata.name, item.data] for item in (await api.list_namespaced_config_map(namespace, label_selector="a=b")).items]
    await api.delete_namespaced_config_map("child", namespace)
    try:
        await api.read_namespaced_config_map("missing", namespace)
    except client.ApiException as error:
        return [made.metadata.name, found, error.status, error.reason]


async def custom(namespace, **_):
    await config.load_kube_config()
    async with client.ApiClient() as api:
        objects = client.CustomObjectsApi(api)
        found = await objects.list_namespaced_custom_object("kopf.dev", "v1", namespace, "kopfexamples")
        changed = await objects.patch_namespaced_custom_object(
            "kopf.dev", "v1", namespace, "kopfexamples", "custom", [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}])
    return [[item["metadata"]["name"] for item in found["items"]], changed["metadata"]["labels"]]


async def unconfigured(namespace, **_):
    """The login handler has configured the client, in another instance."""
    async with client.ApiClient() as api:
        return len((await client.CoreV1Api(api).list_namespaced_config_map(namespace, label_selector="none")).items)


async def secrets(namespace, memo, **_):
    return len((await client.CoreV1Api(memo.api).list_namespaced_secret(namespace)).items)


async def watched(namespace, memo, **_):
    async with watch.Watch().stream(client.CoreV1Api(memo.api).list_namespaced_config_map, namespace) as stream:
        async for event in stream:
            return event["type"]
