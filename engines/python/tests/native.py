"""Runs a script natively under `kopf run -`: the library without an engine, with the real host.

    KOPF=bin/kopf python3 native.py operator.py -n default --standalone

It speaks the messages of abi/SPEC.md, "Native guests". The arguments are those of `kopf run`.
"""

import os
import signal
import socket
import struct
import subprocess
import sys
import traceback
import types

RESULT, ANSWER, PANICKED = 0x08, 0x10, 0x11
FUNCTIONS = {name: kind for kind, name in enumerate(
    ("log", "segment", "stopped", "config", "random", "event", "memo_get", "memo_set", "index", "call"), 0x12)}


class Connection:
    """One end of the connection with the host, and the module `_kopf` on it."""

    def __init__(self, sock):
        self.sock = sock

    def receive(self):
        kind, task, size = struct.unpack("<BII", self._read(9))
        return kind, task, self._read(size)

    def _read(self, size):
        data = bytearray()
        while len(data) < size:
            part = self.sock.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return bytes(data)

    def send(self, kind, task, data):
        self.sock.sendall(struct.pack("<BII", kind, task, len(data)) + data)

    def ask(self, name, task, data):
        self.send(FUNCTIONS[name], task, data)
        kind, _, answer = self.receive()
        assert kind == RESULT, kind
        return struct.unpack("<q", answer[:8])[0], answer[8:]

    def module(self):
        """Return the module `_kopf`, as C implements it."""
        def text(value):
            return value.encode("utf-8", "replace")

        def read(name, task, data):
            n, found = self.ask(name, task, data)
            return found if n >= 0 else None

        def output(name, task, data):
            n, found = self.ask(name, task, data)
            return found if n >= 0 else n

        def memo_get(task, scope, key):
            version, value = self.ask("memo_get", task, struct.pack("<I", scope) + text(key))
            return (version, value) if version >= 0 else version

        def memo_set(task, scope, key, value, version):
            k = text(key)
            return self.ask("memo_set", task, struct.pack("<IqI", scope, version, len(k)) + k + value)[0]

        def index(task, op, name, key):
            n = text(name)
            return output("index", task, struct.pack("<II", op, len(n)) + n + key)

        module = types.ModuleType("_kopf")
        module.log = lambda task, level, line: self.ask("log", task, struct.pack("<I", level) + text(line)) and None
        module.segment = lambda task, tag: read("segment", task, struct.pack("<I", tag))
        module.stopped = lambda task: max(0, self.ask("stopped", task, b"")[0])
        module.config = lambda key: read("config", 0, text(key))
        module.event = lambda task, event: self.ask("event", task, event)[0]
        module.call = lambda task, call: output("call", task, bytes(call))
        module.memo_get, module.memo_set, module.index = memo_get, memo_set, index
        return module


def serve(conn, script):
    """Answer the calls of the host until it ends."""
    sys.modules["_kopf"] = conn.module()
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
    from kopf import _codec, _exchange

    def register(task, message):
        request = _codec.loads(message)
        config = {"KOPF_SCRIPT": open(script).read(), "KOPF_SCRIPT_NAME": script}
        request["config"] = {**(request.get("config") or {}), **config}
        return _exchange.register(task, _codec.dumps(request))

    calls = {1: register, 2: _exchange.start, 3: _exchange.resume, 6: _exchange.ask, 7: _exchange.transform}
    while True:
        kind, task, data = conn.receive()
        try:
            answer = calls[kind](task, data) if kind in calls else (_exchange.cancel, _exchange.release)[kind - 4](task) or b""
        except Exception as error:
            traceback.print_exc()
            conn.send(PANICKED, task, repr(error).encode())
        else:
            conn.send(ANSWER, task, answer)


def main(script, *args):
    ours, theirs = socket.socketpair()
    program = [os.environ.get("KOPF", "kopf"), "run", "-", *args]
    process = subprocess.Popen(program, stdin=theirs)
    theirs.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: process.send_signal(signal.SIGTERM))
    try:
        serve(Connection(ours), script)
    except (EOFError, ConnectionError):
        pass
    ours.close()
    return process.wait()


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)
