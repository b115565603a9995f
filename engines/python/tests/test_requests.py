"""Requests: those that are steps, those that block, and those of client libraries."""

import contextlib
import os
import socket
import sys
import time
import unittest
from unittest import mock

from host import BODY, Operator
from kopf import _files, _http, _sockets, _streams
from test_waits import operator

REFUSED = {"error": {"type": "NotGranted", "kind": "permanent", "message": "not granted: --allow-host example.com"}}


def said(status, body="", **headers):
    return {"response": {"status": status, "body": body, "headers": {name.replace("_", "-"): [value] for name, value in headers.items()}}}


class Steps(unittest.TestCase):
    """Requests of async functions."""

    def test_timers_are_due_while_a_request_is_under_way(self):
        op = operator("a, b = await asyncio.gather(kopf.fetch('https://a'), asyncio.sleep(0.01, 'slept'))\nreturn a.text + b")
        step = op.start(0, BODY)
        self.assertEqual((step["step"], step["call"]["path"], 0 < step["seconds"] <= 0.01), ("call", "https://a", True))
        time.sleep(0.02)
        self.assertEqual(op.resume(), {"step": "call", "continue": True})
        self.assertEqual(op.resume(**said(200, "A"))["result"], "Aslept")

    def test_a_timeout_abandons_the_request(self):
        for wait in ("async with asyncio.timeout(0.01): await kopf.fetch('https://a')", "await asyncio.wait_for(kopf.fetch('https://a'), 0.01)"):
            op = operator(f"try:\n  {wait}\nexcept TimeoutError:\n  return 'late'")
            op.start(0, BODY)
            time.sleep(0.02)
            self.assertEqual(op.resume(), {"step": "done", "result": "late"})

    def test_the_next_request_follows_an_abandoned_one(self):
        op = operator("t = asyncio.create_task(kopf.fetch('https://a'))\nawait asyncio.sleep(0.01)\nt.cancel()\n"
                      "b = await kopf.fetch('https://b')\nreturn b.text")
        op.start(0, BODY)
        time.sleep(0.02)
        self.assertEqual(op.resume(), {"step": "call", "call": {"target": "http", "method": "GET", "path": "https://b"}})
        self.assertEqual(op.resume(**said(200, "B"))["result"], "B")


class Blocking(unittest.TestCase):
    """Requests of sync functions."""

    def test_sync_functions_get_responses(self):
        op = operator("pod = kopf.api('v1', 'pods').get('x')\nreturn pod['kind'] + kopf.fetch('https://a', body=b'\\xff').text", word="def")
        op.host.responses = [said(200, {"kind": "Pod"}), said(200, "text")]
        self.assertEqual(op.start(0, BODY)["result"], "Podtext")
        self.assertEqual(op.host.calls, [
            {"target": "kubernetes", "method": "GET", "path": "/api/v1/namespaces/ns1/pods/x"},
            {"target": "http", "method": "POST", "path": "https://a", "body": "/w==", "encoding": "base64"}])

    def test_lists_are_read_in_pages(self):
        pages = [said(200, {"items": [1], "metadata": {"continue": "c"}}), said(200, {"items": [2]})]
        for word, arguments, awaited in (("def", "", ""), ("async def", ", blocking=True", "")):
            op = operator(f"return {awaited}kopf.api('v1', 'pods'{arguments}).list(page=1)", word=word)
            op.host.responses = list(pages)
            self.assertEqual(op.start(0, BODY)["result"], [1, 2])
            self.assertEqual([call["path"] for call in op.host.calls], [
                "/api/v1/namespaces/ns1/pods?limit=1", "/api/v1/namespaces/ns1/pods?limit=1&continue=c"])

    def test_subresources_are_created_for_an_object(self):
        op = operator("return kopf.api('v1', 'pods', subresource='eviction').create({'metadata': {'name': 'x'}})", word="def")
        op.host.responses = [said(201, {})]
        op.start(0, BODY)
        self.assertEqual([call["path"] for call in op.host.calls], ["/api/v1/namespaces/ns1/pods/x/eviction"])

    def test_logs_are_texts(self):
        op = operator("return kopf.api('v1', 'pods', subresource='log').text('x', container='main', tailLines=2)", word="def")
        op.host.responses = [said(200, "one\ntwo\n")]
        self.assertEqual(op.start(0, BODY)["result"], "one\ntwo\n")
        self.assertEqual([call["path"] for call in op.host.calls], ["/api/v1/namespaces/ns1/pods/x/log?container=main&tailLines=2"])
        op = operator("return kopf.api('v1', 'pods', subresource='log').text('x', container=None, tailLines=0)", word="def")
        op.host.responses = [said(200, "")]
        op.start(0, BODY)
        self.assertEqual([call["path"] for call in op.host.calls], ["/api/v1/namespaces/ns1/pods/x/log?tailLines=0"])

    def test_no_name_is_not_the_collection(self):
        for name in ("None", "''"):
            op = operator(f"return kopf.api('v1', 'pods').get({name})", word="def")
            self.assertIn("GET of pods: the object has no name", op.start(0, BODY)["error"]["message"])
            self.assertEqual(op.host.calls, [])

    def test_async_functions_block_where_they_say_so_or_in_threads(self):
        for call in ("kopf.fetch('https://a', blocking=True)", "await asyncio.to_thread(kopf.fetch, 'https://a')",
                     "await asyncio.to_thread(lambda: asyncio.run(kopf.fetch('https://a')))" if False else "await asyncio.to_thread(lambda: kopf.fetch('https://a'))"):
            op = operator(f"return ({call}).text")
            op.host.responses = [said(200, "A")]
            self.assertEqual(op.start(0, BODY)["result"], "A")

    def test_loops_of_sync_functions_block(self):
        op = operator("async def get(): return (await kopf.fetch('https://a')).text\nreturn asyncio.run(get())", word="def")
        op.host.responses = [said(200, "A")]
        self.assertEqual(op.start(0, BODY)["result"], "A")

    def test_refusals_are_permanent_errors(self):
        op = operator("kopf.fetch('https://example.com')", word="def")
        op.host.responses = [REFUSED]
        error = op.start(0, BODY)["error"]
        self.assertEqual((error["kind"], error["message"]), ("permanent", REFUSED["error"]["message"]))

    def test_requests_need_a_handler(self):
        op = Operator("import kopf\nkopf.fetch('https://example.com')\n")
        self.assertIn("works in handlers only", op.registration["error"])


class Wire(unittest.TestCase):
    """The bytes of HTTP/1.1."""

    def wire(self, data, host="example.com", port=443, encrypted=True):
        wire = _http.Wire(host, port)
        wire.encrypted = encrypted
        for part in (data[:7], data[7:]):
            self.assertIsNone(wire.take() if part == data[:7] else None)
            wire.feed(part)
        return wire

    def call(self, data, *args):
        return self.wire(data, *args).take()

    def test_requests(self):
        self.assertEqual(self.call(b"POST /a?b=c HTTP/1.1\r\nHost: example.com\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 2\r\n\r\nhi"), {
            "target": "http", "method": "POST", "path": "https://example.com/a?b=c", "headers": {"X-A": ["1", "2"]}, "body": "hi", "verbatim": True})
        self.assertEqual(self.call(b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nh\xff\r\n1\r\n!\r\n0\r\n\r\n", "A.example.com.", 8080, False), {
            "target": "http", "method": "PUT", "path": "http://a.example.com:8080/", "headers": {}, "body": "aP8h", "encoding": "base64", "verbatim": True})
        self.assertEqual(self.call(b"GET / HTTP/1.1\r\n\r\n", "::1", 80, False)["path"], "http://[::1]/")

    def test_requests_to_the_api_are_the_operators(self):
        call = self.call(b"PATCH /api/v1/namespaces/a%3Ab/pods/c%2F..%2Fd?x=%2F HTTP/1.1\r\nAuthorization: Bearer of-the-host\r\nUser-Agent: x\r\n"
                         b"Accept: */*\r\nContent-Type: application/json; charset=utf-8\r\nImpersonate-User: root\r\nContent-Length: 2\r\n\r\n{}",
                         "kubernetes.default.svc")
        self.assertEqual(call, {
            "target": "kubernetes", "method": "PATCH", "path": "/api/v1/namespaces/a:b/pods/c%2F..%2Fd?x=%2F", "verbatim": True, "body": "{}",
            "headers": {"Content-Type": ["application/json"], "Impersonate-User": ["root"]}})  # the host refuses the last one
        for host, port, encrypted in (("kubernetes.default.svc", 443, False), ("kubernetes.default.svc", 8443, True), ("a.kubernetes.default.svc", 443, True)):
            self.assertEqual(self.call(b"GET /api HTTP/1.1\r\n\r\n", host, port, encrypted)["target"], "http")

    def test_other_protocols_are_refused(self):
        for data in (b"EHLO example.com\r\n\r\n", b"CONNECT a:443 HTTP/1.1\r\n\r\n", b"GET http://a/ HTTP/1.1\r\n\r\n",
                     b"GET / HTTP/1.1\r\nUpgrade: websocket\r\n\r\n", b"x" * 100_000):
            with self.assertRaisesRegex(OSError, "HTTP requests only"):
                self.call(data)

    def test_responses(self):
        call = {"method": "GET"}
        self.assertEqual(_http.answer(call, said(200, "ü", X_A="b", Content_Length="9", Transfer_Encoding="chunked")["response"]),
                         "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 2\r\nConnection: close\r\n\r\n".encode() + "ü".encode())
        self.assertEqual(_http.answer({"method": "HEAD"}, said(299, "", Content_Length="9")["response"]),
                         b"HTTP/1.1 299 \r\nContent-Length: 9\r\nConnection: close\r\n\r\n")


class Streams(unittest.TestCase):
    """Connections of event loops, which aiohttp uses."""

    OPEN = "r, w = await asyncio.open_connection('example.com', 443, ssl=True)\n"
    ASK = OPEN + "w.write(b'GET /a HTTP/1.1\\r\\nX-A: b\\r\\n')\nw.write(b'\\r\\n')\n"

    def test_requests_are_steps(self):
        op = operator(self.ASK + "return (await r.read()).decode()")
        self.assertEqual(op.start(0, BODY), {"step": "call", "call": {
            "target": "http", "method": "GET", "path": "https://example.com/a", "headers": {"X-A": ["b"]}, "verbatim": True}})
        self.assertEqual(op.resume(**said(200, "hi"))["result"], "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")

    def test_requests_of_loops_of_sync_functions_block(self):
        op = operator(f"async def ask():\n  {self.ASK}return len(await r.read())".replace("\nw", "\n  w").replace("\nreturn", "\n  return") + "\nreturn asyncio.run(ask())", word="def")
        op.host.responses = [said(200, "x" * 1_000_000)]
        self.assertEqual(op.start(0, BODY)["result"], 1_000_063)

    def test_who_is_slow_gets_pieces(self):
        op = operator(self.ASK + "found = [len(await r.readexactly(300_066))]\nawait asyncio.sleep(0.001)\nw.close()\nreturn found + [len(await r.read()) > 300_000]")
        op.start(0, BODY)
        step = op.resume(**said(200, "x" * 1_000_000))
        while step["step"] == "wait":
            step = op.resume()
        self.assertEqual(step["result"], [300_066, False], step)

    def test_refusals_and_failures_end_the_connection(self):
        for answer, name in ((REFUSED, "RequestError"), ({"error": {"type": "Timeout", "message": "late"}}, "TimeoutError"),
                             ({"error": {"type": "Unreachable", "message": "gone"}}, "ConnectionError")):
            op = operator(self.ASK + "await r.read()")
            op.start(0, BODY)
            self.assertEqual(op.resume(**answer)["error"]["type"], name)

    def test_other_protocols_are_refused(self):
        for data in ("b'*1\\r\\n$4\\r\\nPING\\r\\n'", "b'\\0\\0\\0\\x08'", "b'EHLO a\\r\\n'", "b'GET / HTTP/1.1\\r\\nUpgrade: websocket\\r\\n\\r\\n'"):
            self.assertIn("HTTP requests only", operator(self.OPEN + f"w.write({data})\nawait r.read()").start(0, BODY)["error"]["message"])
        op = operator(self.OPEN + "await r.read()")
        self.assertEqual(round(op.start(0, BODY)["seconds"]), 5)
        with mock.patch.object(_streams, "_SILENCE", 0.001):
            self.assertIn("HTTP requests only", operator(self.OPEN + "await r.read()").run(0, BODY)["error"]["message"])
        self.assertIn("the host serves probes", operator("await asyncio.start_server(print, '', 80)").start(0, BODY)["error"]["message"])

    def test_a_closed_connection_abandons_its_request(self):
        op = operator(self.ASK + "try: await asyncio.wait_for(r.read(), 0.5)\nexcept TimeoutError: w.close()\nawait w.wait_closed()\nreturn 'late'")
        self.assertEqual(op.start(0, BODY)["step"], "call")
        time.sleep(0.6)
        self.assertEqual(op.resume(), {"step": "done", "result": "late"})
        self.assertEqual(op.host.logs, [])


@contextlib.contextmanager
def clients():
    """The modules as they are in the sandbox."""
    names = ("socket", "SocketType", "create_connection", "getaddrinfo", "gethostbyname", "gethostname", "getfqdn", "setdefaulttimeout",
             "getdefaulttimeout", "has_ipv6")
    kept, modules = {name: getattr(socket, name) for name in names}, {}
    stat, environ, path = os.stat, dict(os.environ), list(sys.meta_path)
    for name in [name for name in sys.modules if name.split(".")[0] in ("ssl", "http", "urllib", "certifi")]:
        modules[name] = sys.modules.pop(name)
    try:
        _sockets.install()
        yield
    finally:
        os.stat, sys.meta_path[:] = stat, path
        os.environ.clear()
        os.environ.update(environ)
        for name, value in kept.items():
            setattr(socket, name, value)
        for name in [name for name in sys.modules if name.split(".")[0] in ("ssl", "http", "urllib", "certifi")]:
            del sys.modules[name]
        sys.modules.update(modules)


class Libraries(unittest.TestCase):
    """Client libraries of the standard library, upon the sockets."""

    def run_with(self, body, *responses):
        with clients():
            op = operator("import http.client, socket, ssl, urllib.error, urllib.request\n" + body, word="def")
            op.host.responses = list(responses)
            return op.start(0, BODY), op.host.calls

    def test_urllib(self):
        step, calls = self.run_with(
            "request = urllib.request.Request('https://example.com/a', b'hi', {'X-A': 'b'})\n"
            "with urllib.request.urlopen(request, timeout=3) as r:\n  return [r.status, r.read().decode(), r.headers['X-C']]", said(201, "made", X_C="d"))
        self.assertEqual(step["result"], [201, "made", "d"], step)
        self.assertEqual((calls[0]["path"], calls[0]["method"], calls[0]["body"], calls[0]["timeout"]), ("https://example.com/a", "POST", "hi", 3))

    def test_http_client(self):
        step, calls = self.run_with(
            "c = http.client.HTTPConnection('example.com', 8080)\nfound = []\n"
            "for path in '/a', '/b':\n  c.request('GET', path)\n  r = c.getresponse()\n  found.append([r.status, r.read().decode()])\nreturn found",
            said(200, "A"), said(404, "B"))
        self.assertEqual(step["result"], [[200, "A"], [404, "B"]], step)
        self.assertEqual([call["path"] for call in calls], ["http://example.com:8080/a", "http://example.com:8080/b"])

    def test_refusals_pass_through_libraries(self):
        step, _ = self.run_with("try: urllib.request.urlopen('https://example.com')\nexcept OSError: return 'caught'", REFUSED)
        self.assertEqual((step["error"]["kind"], step["error"]["message"]), ("permanent", REFUSED["error"]["message"]))

    def test_failures_are_those_of_sockets(self):
        for kind, name in (("Timeout", "TimeoutError"), ("Unreachable", "ConnectionError")):
            step, _ = self.run_with("try: urllib.request.urlopen('http://example.com')\n"
                                    "except OSError as e: return type(getattr(e, 'reason', e)).__name__",
                                    {"error": {"type": kind, "kind": "arbitrary", "message": "no"}})
            self.assertEqual(step["result"], name)

    def test_other_sockets_are_refused(self):
        step, _ = self.run_with("return socket.create_connection(('example.com', 25)).recv(10).decode()")
        self.assertEqual(step["result"], "")  # the end: no server speaks first
        for body in ("socket.socket(type=socket.SOCK_DGRAM).connect(('1.1.1.1', 53))", "s = socket.create_connection(('a', 25))\ns.send(b'EHLO')\ns.recv(9)",
                     "socket.socket(socket.AF_UNIX).connect('/run/x')"):
            self.assertIn("HTTP requests only", self.run_with(body)[0]["error"]["message"])
        self.assertIn("the host serves probes (--liveness)", self.run_with("import http.server\nhttp.server.HTTPServer(('', 8080), None)")[0]["error"]["message"])
        self.assertIn("not connected", self.run_with("socket.socket().recv(1)")[0]["error"]["message"])


class Files(unittest.TestCase):
    """What libraries read to find the cluster."""

    def test_the_service_account_is_a_placeholder(self):
        with clients():
            _files.install()
            folder = "/var/run/secrets/kubernetes.io/serviceaccount/"
            self.assertTrue(os.path.isfile(folder + "token") and os.path.exists(_files.AUTHORITIES))
            self.assertTrue(os.path.isdir(folder) and os.path.exists(folder[4:-1]) and os.path.isfile(folder[4:] + "token"))
            self.assertEqual(os.environ["KUBERNETES_PORT"], "tcp://kubernetes.default.svc:443")
            self.assertFalse(os.path.exists(folder + "other"))
            self.assertEqual(_files.opened(folder + "token").read(), "of-the-host")
            self.assertEqual(_files.opened(folder[4:] + "token").read(), "of-the-host")
            self.assertEqual(_files.opened(folder + "namespace", "rb").read(), b"default")
            self.assertIsNone(_files.opened(folder + "token", "w"))
            self.assertIsNone(_files.opened(3))
            self.assertEqual(os.environ["KUBERNETES_SERVICE_HOST"], "kubernetes.default.svc")


if __name__ == "__main__":
    unittest.main()
