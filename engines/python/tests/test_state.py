"""What the host keeps: memos, indices, events, settings, credentials, logs, hierarchies; and scripts that cannot be."""

import unittest
from pathlib import Path

from host import BODY, Operator
from kopf import _memos, _scripts


def operator(body, decorator="kopf.on.create('kex')", args="body, logger, memo, **kwargs", word="def"):
    lines = "\n".join("  " + line for line in body.splitlines())
    return Operator(f"import kopf, asyncio, datetime, logging\n@{decorator}\n{word} fn({args}):\n{lines}\n")


class State(unittest.TestCase):
    def test_memos_are_kept_by_keys(self):
        op = operator("memo.n = memo.get('n', 0) + 1\nmemo.setdefault('list', []).append(memo['n'])\nreturn [dict(memo), len(memo), 'n' in memo]")
        op.run(0, BODY)
        self.assertEqual(op.run(0, BODY)["result"], [{"n": 2, "list": [1, 2]}, 2, True])

    def test_memos_have_keys_that_are_no_texts(self):
        op = operator("memo[5] = memo.get(5.0, 0) + 1\nmemo['ns', ('name', None)] = memo.setdefault(1.5, [])\nmemo[True] = 'T'\nmemo[1.5].append('x')\n"
                      "memo['5'] = 'text'\ndel memo['5']\n"
                      "return [list(memo) == [5, 1.5, ('ns', ('name', None)), 1], dict(memo)[5], memo[1], 1 in memo, '5' in memo, (5,) in memo, memo[1.5], memo.pop(5), len(memo)]")
        for count in (1, 2):
            self.assertEqual(op.run(0, BODY)["result"], [count == 1, 1, "T", True, False, False, ["x"] * count, 1, 3])
        for key in ("[1]", "{1}", "float('nan')", "object()"):
            self.assertIn("keys of memos are texts, numbers, None, and tuples of these", operator(f"memo[{key}] = 1").run(0, BODY)["error"]["message"])

    def test_memos_hold_objects_of_python(self):
        op = operator("if 'at' in memo: return [memo.at.year, sorted(memo.tags)]\nmemo.at, memo.tags = datetime.datetime(2020, 1, 1), {'a', 'b'}")
        op.run(0, BODY)
        self.assertEqual(op.run(0, BODY)["result"], [2020, ["a", "b"]])

    def test_memos_hold_classes_of_the_script(self):
        op = Operator("import dataclasses, enum, kopf\nclass Kind(enum.Enum):\n  A = 1\n@dataclasses.dataclass\nclass Conn:\n  name: str\n  kind: Kind\n"
                      "@kopf.on.create('kex')\ndef fn(memo, **_):\n  if 'c' in memo: return [memo.c.name, memo.c.kind is Kind.A, type(memo.c) is Conn]\n  memo.c = Conn('h', Kind.A)\n")
        op.run(0, BODY)
        self.assertEqual(op.run(0, BODY)["result"], ["h", True, True])

    def test_bodies_in_memos_are_not_those_of_other_tasks(self):
        op = operator("if 'b' in memo: return [memo.b.meta.name, memo.s['field'], type(memo.b) is kopf.Body]\nmemo.b, memo.s = body, spec",
                      decorator="kopf.timer('kex', interval=1)", args="memo, body, spec, **_")
        op.run(0, BODY)
        op.host.segments[7] = {"metadata": {"name": "other"}}  # the newest body of the task that asks
        self.assertEqual(op.run(0, BODY)["result"], ["obj1", "one", True])

    def test_memos_refuse_what_belongs_to_the_instance(self):
        self.assertIn("memo.x cannot be kept", operator("memo.x = lambda: 1").run(0, BODY)["error"]["message"])

    def test_memos_of_startup_handlers_keep_what_belongs_to_the_instance(self):
        op = Operator("import kopf, threading\n@kopf.on.startup()\ndef start(memo, **_):\n  memo.first, memo.client, memo.both = 1, threading.Lock(), {}\n  memo.both['a'] = memo.client\n"
                      "@kopf.on.create('kex')\ndef fn(memo, **_):\n  with memo.client: return [memo.both['a'].locked(), 'client' in memo, 'no' in memo, list(memo), len(memo)]\n"
                      "@kopf.on.update('kex')\ndef change(memo, **_): del memo.client\n@kopf.on.cleanup()\ndef end(memo, **_):\n  memo.pop('client')\n  assert 'client' not in memo\n")
        self.addCleanup(_memos._kept.clear)
        self.assertNotIn("error", op.run("start"))
        self.assertEqual(op.run("fn", BODY)["result"], [True, True, False, ["client", "both"], 2])
        self.assertIn("cannot be removed", op.run("change", BODY)["error"]["message"])
        self.assertNotIn("error", op.run("end"))

    def test_differences_are_in_sets(self):
        op = operator("return len({*kopf.Diff([('add', ['a'], None, 1)] * 2), ('add', ('a',), None, 1)})")
        self.assertEqual(op.run(0, BODY)["result"], 1)

    def test_memos_are_missing_attributes(self):
        self.assertEqual(operator("memo.nothing").run(0, BODY)["error"]["type"], "AttributeError")

    def test_memos_are_deleted(self):
        op = operator("memo.update(a=1, b=2)\ndel memo['a']\nreturn memo.pop('b') and list(memo)")
        self.assertEqual(op.run(0, BODY)["result"], [])

    def test_memos_are_dicts_for_json_copies_and_unions(self):
        op = operator("import copy, json\nmemo.x, memo.y = 1, [2]\n"
                      "return [json.dumps(memo), memo | {'z': 3}, copy.copy(memo), copy.deepcopy(memo), list(reversed(memo)), memo.popitem(), memo]")
        whole = {"x": 1, "y": [2]}
        self.assertEqual(op.run(0, BODY)["result"], ['{"x": 1, "y": [2]}', {**whole, "z": 3}, whole, whole, ["y", "x"], ["y", [2]], {"x": 1}])
        self.assertEqual(operator("import json\nreturn json.dumps(memo)").run(0, BODY)["result"], "{}")

    def test_indices(self):
        op = operator("assert 'k' in pods and pods.get('no', []) == [] and sorted(pods) == ['k', 'l'] and len(pods) == 2\n"
                      "return [list(pods['k']), len(pods['k']), 1 in pods['k']]", args="pods, **_")
        op.host.indices["pods"] = [("k", 1), ("k", 2), ("l", 3)]
        self.assertEqual(op.run(0, BODY, indices=["pods"])["result"], [[1, 2], 2, True])

    def test_keys_of_indices_may_be_gone_in_a_loop(self):
        op = operator("return [{key: list(store) for key, store in pods.items()}, len(pods.values()), repr(pods)]", args="pods, **_")
        op.host.indices["pods"] = [("k", 1), ("l", 3)]
        index = op.host.index
        op.host.index = lambda task, op, name, key: -1 if (op, key) == (0, b'"l"') else index(task, op, name, key)
        self.assertEqual(op.run(0, BODY, indices=["pods"])["result"], [{"k": [1]}, 1, "{'k': [1]}"])

    def test_results_of_indices(self):
        for code, expected in (("{('a', 1): 2}", {"keyed": True, "result": [[["a", 1], 2]]}), ("5", {"keyed": True, "result": [[None, 5]]}),
                               ("None", {}), ("{}", {"keyed": True, "result": []})):
            self.assertEqual(operator(f"return {code}", "kopf.index('kex')").run(0, BODY), {"step": "done", **expected})

    def test_events(self):
        op = operator("kopf.info(body, reason='R', message='m')\nkopf.event({'kind': 'Pod', 'metadata': {'name': 'p', 'uid': 'u2'}}, type='T', reason='R')\n"
                      "try: 1/0\nexcept ZeroDivisionError: kopf.exception([body], message='oh')")
        op.run(0, BODY)
        self.assertEqual(op.host.events, [
            {"level": 20, "type": "Normal", "reason": "R", "message": "m"},
            {"type": "T", "reason": "R", "message": "", "object": {"kind": "Pod", "metadata": {"name": "p", "uid": "u2"}}},
            {"level": 40, "type": "Error", "reason": "ZeroDivisionError", "message": "oh division by zero"}])

    def test_events_do_not_fail_handlers(self):
        op = operator("kopf.info({'kind': 'Pod'}, reason='R')\nreturn 'posted'")
        op.host.event = lambda task, event: -4
        self.assertEqual(op.run(0, BODY)["result"], "posted")
        self.assertIn("the event is not posted: it is not granted to the operator. Ignoring and continuing", op.host.logs[0][2])

    def test_logs_of_objects_survive_other_handlers(self):
        op = operator("logging.basicConfig(force=True)\nlogger.info('seen')")
        op.run(0, BODY)
        self.assertEqual(op.host.logs, [(1, 20, "seen")])

    def test_logs_belong_to_the_task(self):
        op = operator("logger.info('hi %s', 1)\nlogging.getLogger('x').warning('w')\ntry: 1/0\nexcept Exception: logger.exception('bad')")
        op.run(0, BODY)
        self.assertEqual(op.host.logs[:2], [(1, 20, "hi 1"), (0, 30, "w")])
        self.assertIn("bad\nTraceback", op.host.logs[2][2])

    def test_hierarchies(self):
        op = operator("pod = {'kind': 'Pod', 'spec': {'template': {}}}\nkopf.adopt(pod, nested='spec.template')\nreturn pod")
        self.assertEqual(op.run(0, BODY)["result"], {
            "kind": "Pod", "spec": {"template": {"metadata": {"labels": {"app": "web"}}}}, "metadata": {
                "generateName": "obj1-", "namespace": "ns1", "labels": {"app": "web"}, "ownerReferences": [{
                    "controller": True, "blockOwnerDeletion": True, "apiVersion": "kopf.dev/v1", "kind": "KopfExample", "name": "obj1", "uid": "uid1"}]}})


    def test_parts_of_children_may_be_null(self):
        op = operator("pod = {'kind': 'Pod', 'metadata': {'labels': None}}\nkopf.label(pod, {'x': 'y'})\nreturn pod['metadata']")
        self.assertEqual(op.run(0, BODY)["result"], {"labels": {"x": "y"}})


class Activities(unittest.TestCase):
    VALUES = {"posting.level": 20, "networking.error_backoffs": [1], "persistence.progress_storage": {"type": "smart"}}

    def changes(self, code):
        op = operator(code, "kopf.on.startup()", args="settings, **_")
        step = op.run(0, activity="startup", settings=self.VALUES)
        return step.get("settings"), step.get("error", {}).get("message")

    def test_settings_are_attributes(self):
        self.assertEqual(self.changes("settings.posting.level = logging.ERROR; settings.networking.error_backoffs = (1, 2)"), (
            {"posting.level": 40, "networking.error_backoffs": [1, 2]}, None))
        self.assertEqual(self.changes("settings.batching.worker_limit = 5; settings.peering.namespaced = False"), (
            {"queueing.worker_limit": 5, "peering.clusterwide": True}, None))
        self.assertEqual(self.changes("settings.watching.label_selectors['kex'] = 'a=b'"), (
            {"watching.label_selectors": [{"resource": {"args": ["kex"]}, "selector": "a=b"}]}, None))

    def test_selectors_of_the_host_can_be_completed(self):
        op = operator("assert settings.watching.label_selectors[kopf.EVERYTHING] == 'a'\nsettings.watching.label_selectors['kex'] = 'c'",
                      "kopf.on.startup()", args="settings, **_")
        everything = {"args": [{"$": "EVERYTHING"}]}
        for given in ({"resource": everything, "selector": "a"}, {"resource": "*", "selector": "a"}):
            step = op.run(0, activity="startup", settings={"watching.label_selectors": [given, {"resource": "kopf.dev/v1/kex", "selector": "b"}]})
            self.assertEqual(step.get("settings"), {"watching.label_selectors": [
                {"resource": everything, "selector": "a"}, {"resource": {"args": ["kopf.dev", "v1", "kex"]}, "selector": "b"},
                {"resource": {"args": ["kex"]}, "selector": "c"}]}, step)

    def test_endless_backoffs_are_their_first_values(self):
        script = "class Endless:\n  def __iter__(self):\n    while True: yield 5\n"
        changed, _ = self.changes(script + "settings.networking.error_backoffs = Endless()")
        self.assertEqual(changed, {"networking.error_backoffs": [5] * 1000})
        op = operator(script + "kopf.info(body, reason='r', backoffs=Endless())")
        self.assertEqual(op.run(0, BODY), {"step": "done"})
        self.assertEqual(op.host.events[0]["backoffs"], [5] * 1000)

    def test_settings_have_the_types_of_the_reference(self):
        op = operator("s = settings\nraise kopf.PermanentError([s.networking.error_backoffs + (2,), s.queueing.worker_limit, s.queueing.idle_timeout,\n"
                      "    s.watching.chunk_size, s.background.instant_exit_timeout, s.peering.priority])", "kopf.on.startup()", args="settings, **_")
        step = op.run(0, activity="startup", settings={
            **self.VALUES, "queueing.worker_limit": 0, "queueing.idle_timeout": 5, "watching.chunk_size": 500,
            "background.instant_exit_timeout": 0, "peering.priority": 0})
        self.assertEqual((step["error"]["message"], step.get("settings")), ("[(1, 2), None, 5.0, 500, 0, 0]", {}))

    def test_storages_and_servers_are_described(self):
        changed, _ = self.changes("settings.persistence.diffbase_storage = kopf.MultiDiffBaseStorage([kopf.StatusDiffBaseStorage(field=('status', 'x'))])\n"
                                  "settings.admission.server = kopf.WebhookServer(port=9443)")
        self.assertEqual(changed, {"admission.server": {"type": "server", "port": 9443},
                                   "persistence.diffbase_storage": [{"type": "status", "name": "kopf", "field": ["status", "x"]}]})

    def test_fields_of_storages_keep_keys_with_dots(self):
        changed, _ = self.changes("settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(\n"
                                  "    ignored_fields=['spec.x', ('metadata', 'annotations', 'example.com/x')])\n"
                                  "settings.persistence.progress_storage = kopf.StatusProgressStorage(field=['status', 'example.com', 'progress'])")
        self.assertEqual(changed["persistence.diffbase_storage"]["ignored_fields"], ["spec.x", ["metadata", "annotations", "example.com/x"]])
        self.assertEqual(changed["persistence.progress_storage"]["field"], ["status", "example.com", "progress"])

    def test_settings_are_for_startup_handlers(self):
        op = operator("settings.posting.level = 40", "kopf.on.cleanup()", args="settings, **_")
        self.assertEqual(op.run(0, activity="cleanup"), {"step": "done"})
        self.assertEqual(op.host.logs, [(1, 30, "Handler 'fn' changes settings without an effect: posting.level. Only startup handlers can.")])

    def test_storages_with_options_of_their_own_are_those_of_kopf(self):
        changed, _ = self.changes("class A(kopf.AnnotationsProgressStorage):\n  def __init__(self, **kwargs): super().__init__(prefix='my.op', **kwargs)\n"
                                  "class B(A): 'Again.'\nsettings.persistence.progress_storage = B(v1=False)")
        self.assertEqual(changed["persistence.progress_storage"]["prefix"], "my.op")

    def test_options_of_servers_are_texts(self):
        for mode in ("none", "optional", "required"):
            changed, _ = self.changes(f"import pathlib, ssl\nsettings.admission.server = kopf.WebhookServer(verify_mode=ssl.CERT_{mode.upper()}, certfile=pathlib.Path('c.pem'))")
            self.assertEqual(changed, {"admission.server": {"type": "server", "verify_mode": mode, "certfile": "c.pem"}})

    SERVER = ("class Tunnel(%s):\n  async def __call__(self, fn):\n    server = kopf.WebhookServer(port=9443, host='a.b.svc')\n    async for config in %s(fn):\n"
              "      config['url'] = None\n      config['service'] = kopf.WebhookClientConfigService(name='a', namespace='b', port=443, path=None)\n"
              "      %s\n      yield config\nsettings.admission.server = Tunnel(%s)")

    def test_servers_of_scripts_turn_urls_into_services(self):
        service = {"service": {"name": "a", "namespace": "b", "port": 443}}
        self.assertEqual(self.changes(self.SERVER % ("", "server", "pass", "")), ({"admission.server": {"type": "server", "port": 9443, "host": "a.b.svc", **service}}, None))
        self.assertEqual(self.changes(self.SERVER % ("kopf.WebhookAutoServer", "super().__call__", "assert self.port == 1", "port=1")),
                         ({"admission.server": {"type": "auto-server", "port": 1, **service}}, None))
        for more in ("config['url'] = 'https://x'", "config['caBundle'] = 'x'", "config['service']['path'] = '/x'", "await asyncio.sleep(1)", "del config['service']", "1 / 0"):
            self.assertIn("a server of its own", self.changes(self.SERVER % ("", "server", more, ""))[1], more)

    def test_settings_can_be_copied(self):
        self.assertEqual(self.changes("import copy\nassert copy.deepcopy(settings).posting.level == 20"), ({}, None))

    def test_pools_of_threads_are_limits(self):
        pools = "import concurrent.futures as c\nsettings.execution.executor = c.ThreadPoolExecutor("
        self.assertEqual(self.changes(pools + "3)"), ({"execution.max_workers": 3}, None))
        self.assertEqual(self.changes(pools + ")"), ({}, None))

    def test_what_cannot_be_is_an_error(self):
        self.assertIn("Did you mean: 'level'?", self.changes("settings.posting.levle = 1")[1])
        self.assertIn("no threads", self.changes("settings.execution.executor = 1")[1])
        for base, method, args in (("AnnotationsProgress", "def store(self, **_): pass", ""), ("AnnotationsProgress", "prefix = property(id)", ""),
                                   ("MultiProgress", "def store(self, **_): pass", "[]"), ("Progress", "pass", "")):
            self.assertIn("storage of its own", self.changes(
                f"class S(kopf.{base}Storage):\n  {method}\nsettings.persistence.progress_storage = S({args})")[1])
        for code in ("settings.admission.server = kopf.WebhookServer(port=object())", "settings.watching.label_selectors['x'] = object()",
                     "settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=b'x')"):
            self.assertIn("cannot be sent to the host", self.changes(code)[1])
        for code in ("settings.posting.levle = 1", "settings.admission.server = object()", "assert not hasattr(settings.posting, 'levle')\nsettings.posting = 1"):
            op = operator(code, "kopf.on.startup()", args="settings, **_")
            self.assertEqual(op.run(0, activity="startup", settings=self.VALUES)["error"]["kind"], "permanent", code)

    def test_logins(self):
        op = operator("return kopf.login_with_service_account(**kw) or kopf.login_with_kubeconfig(**kw)", "kopf.on.login()", args="**kw")
        self.assertEqual(op.run(0, activity="authentication", logins=["kubeconfig"])["result"], {"login": "kubeconfig", "priority": 10})
        op = operator("return kopf.ConnectionInfo(server='https://x', token='t', expiration=datetime.datetime(2030, 1, 1))", "kopf.on.login()", args="**kw")
        self.assertEqual(op.run(0)["result"], {"server": "https://x", "token": "t", "expiration": "2030-01-01T00:00:00"})
        op = operator("return kopf.ConnectionInfo(server='https://kubernetes.default.svc', ca_path='/var/run/ca.crt', token='of-the-host', priority=7, default_namespace='default')",
                      "kopf.on.login()", args="**kw")
        self.assertEqual(op.run(0, activity="authentication", logins=["kubeconfig", "service_account"])["result"], {"login": "service_account", "priority": 7})
        self.assertEqual(op.run(0, activity="authentication", logins=["host"])["result"], {"login": "host", "priority": 7})
        op = operator("return kopf.ConnectionInfo(server='https://x', ca_path='/x')", "kopf.on.login()", args="**kw")
        self.assertIn("use ca_data", op.run(0)["error"]["message"].lower())

    def test_probes(self):
        op = operator("return {'now': 1}", "kopf.on.probe()", args="**_")
        self.assertEqual(op.run(0, activity="probe")["result"], {"now": 1})


class Scripts(unittest.TestCase):
    def refused(self, script):
        return Operator(script).registration["error"]

    def test_errors_have_their_places(self):
        self.assertEqual(self.refused("import kopf\ndef f(:\n"), f"operator.py:2: SyntaxError: invalid syntax ({_scripts._VERSION})")
        self.assertIn("operator.py:2: ModuleNotFoundError: No module named 'nowhere'", self.refused("\nimport nowhere"))
        self.assertEqual(self.refused("\n\nraise ValueError('x')"), "operator.py:3: ValueError: x")
        self.assertIn("declares no handlers", self.refused("import kopf"))
        self.assertEqual(self.refused("import os\nos.environ['REGION']"), "operator.py:2: KeyError: 'REGION': pass variables of the environment by --env NAME, or --config NAME=VALUE")
        self.assertEqual(self.refused("{}['x']"), "operator.py:1: KeyError: 'x'")
        for statement in ("from .helpers import x", "from . import helpers"):
            self.assertIn("run it as kopf run -m PACKAGE.MODULE", self.refused(statement))
        self.assertTrue(self.refused("from typing import nothing").endswith(f": this is {_scripts._VERSION}"))
        self.assertIn("ends itself", self.refused("import sys; sys.exit(1)"))

    def test_what_the_sandbox_has_not_says_so(self):
        self.assertIn("the host runs the operator", self.refused("import kopf\nkopf.run()"))
        self.assertIn("no threads", self.refused("import threading\nthreading.Thread(target=print).start()"))
        self.assertIn("without a resource", self.refused("import kopf\n@kopf.on.create\ndef fn(spec, **_): pass"))
        self.assertIn("unexpected keyword argument 'wen'", self.refused("import kopf\n@kopf.on.create('kex', wen=1)\ndef fn(**_): pass"))
        self.assertIn("is no lifecycle", self.refused("import kopf\nkopf.set_default_lifecycle(lambda handlers, **_: handlers)"))

    def test_globals_of_handlers_are_warned_of(self):
        op = Operator("import functools, kopf\n@kopf.on.login()\ndef setup(**_):\n  global LOCK, CLIENT\n  LOCK = CLIENT = 1\n"
                      "@kopf.on.startup()\ndef start(**_):\n  global TABLE\n  TABLE = 1\n"
                      "@kopf.on.login()\ndef other(**_): LOCAL = 1\nkopf.on.login(id='part')(functools.partial(other, x=1))\n"
                      "@kopf.on.create('kex')\n@kopf.on.update('kex')\ndef count(**_):\n  global COUNT\n  COUNT = 1\n")
        [(task, level, text), other] = op.host.logs
        self.assertIn("Handler 'count' assigns the global COUNT", other[2])
        self.assertEqual((task, level), (0, 30))
        self.assertIn("Handler 'setup' assigns the global CLIENT, LOCK, which other handlers may not see", text)

    def test_globals_that_handlers_fill_are_warned_of(self):
        op = Operator("import collections, kopf\nSEEN, STATS, NAMES, OWNED, QUEUE, FIXED = {}, collections.Counter(), set(), {}, collections.deque(), {'a': 1}\n"
                      "@kopf.on.startup()\ndef start(**_): FIXED['b'] = 2\n"
                      "@kopf.on.create('kex')\ndef fills(name, meta, spec, **_):\n  SEEN[meta['namespace'], str(name)] = spec.get('x') or 1\n"
                      "  STATS['all'] += 1\n  NAMES.add(name)\n  del OWNED[name]\n  QUEUE.append(name)\n"
                      "@kopf.on.update('kex')\ndef nested(name, **_): SEEN[name]['x'] = 1\n"
                      "@kopf.on.event('kex')\ndef both(name, **_):\n  global SEEN\n  SEEN = {}\n  SEEN[name] = 1\n"
                      "@kopf.on.delete('kex')\ndef reads(name, patch, memo, **_):\n  local, patch.status['x'] = {}, FIXED.get(name)\n"
                      "  local[name] = SEEN[name] or FIXED[name]\n  patch.status[FIXED[name]] = 1\n  patch.meta['x'] = memo.x = len(NAMES)\n  memo.list.append(FIXED)\n")
        self.assertEqual([text.partition(", which")[0] for _, _, text in op.host.logs],
                         ["Handler 'fills' changes the global NAMES, OWNED, QUEUE, SEEN, STATS", "Handler 'nested' changes the global SEEN",
                          "Handler 'both' assigns the global SEEN"])

    def test_mistyped_names_are_asked_about(self):
        self.assertTrue(self.refused("import kopf\n@kopf.on.created('kex')\ndef fn(**_): pass").endswith("has no attribute 'created'. Did you mean: 'create'?"))
        self.assertIn("unexpected keyword argument 'retry'. Did you mean: 'retries'?", self.refused("import kopf\n@kopf.on.create('kex', retry=1)\ndef fn(**_): pass"))
        self.assertTrue(self.refused("import kopf\nkopf.nothing_of_this_kind").endswith("has no attribute 'nothing_of_this_kind'"))

    def test_arguments_that_a_function_does_not_take_have_their_place(self):
        for script in ("def fn(spec): pass", "async def fn(spec): pass"):
            error = Operator(f"import kopf\n@kopf.on.create('kex')\n{script}").run(0, BODY)["error"]
            self.assertRegex(error["message"], r"^fn\(\) got an unexpected keyword argument '\w+' \(operator.py:2\): end the arguments with \*\*_, because")
            self.assertNotIn("lib/kopf", error["stack"])
        error = operator("(lambda: 1)(x=2)").run(0, BODY)["error"]
        self.assertTrue(error["message"].endswith("got an unexpected keyword argument 'x'"), error)

    def test_pools_of_threads_call_functions_at_once(self):
        op = operator("from concurrent.futures import ThreadPoolExecutor, as_completed\nseen = []\nwith ThreadPoolExecutor(2, initializer=seen.append, initargs=(0,)) as pool:\n"
                      "  futures = [pool.submit(divmod, 7, n) for n in (2, 0)]\n  nested = pool.submit(lambda: pool.submit(asyncio.run, asyncio.sleep(0, 5)).result())\n"
                      "  return [seen, list(pool.map(str, [1, 2])), nested.result(), sorted(str(f.exception() or f.result()) for f in as_completed(futures))]")
        self.assertEqual(op.run(0, BODY)["result"], [[0], ["1", "2"], 5, ["(3, 1)", "integer division or modulo by zero"]])

    def test_main_guards_are_not_entered(self):
        self.assertNotIn("error", Operator("import kopf\n@kopf.on.event('kex')\ndef fn(**_): pass\nif __name__ == '__main__': kopf.run()").registration)

    def test_the_configuration_is_the_environment(self):
        op = Operator("import kopf, os\n@kopf.on.event('kex', id=os.environ['MY_ID'])\ndef fn(**_): pass", MY_ID="x")
        self.assertEqual(op.handlers[0]["id"], "x")

    def test_modules_of_the_reference_are_there(self):
        op = Operator("import kopf\nfrom kopf._core.actions import execution\nfrom kopf._cogs.structs.diffs import diff\n@kopf.on.create('kex')\n"
                      "def fn(**_): return [execution.handler_var.get().id, diff({'a': 1}, {'a': 2})]")
        self.assertEqual(op.run(0, BODY)["result"], ["fn", [["change", ["a"], 1, 2]]])

        op = Operator("import kopf, kopf._kits.webhooks\nfrom kopf._cogs.helpers.typedefs import Logger\nfrom kopf._cogs.structs.ids import HandlerId\n"
                      "assert Logger is kopf.Logger and kopf._kits.webhooks.WebhookServer is kopf.WebhookServer\n@kopf.on.create('kex')\ndef fn(**_): pass")
        self.assertNotIn("error", op.registration)
        op = Operator("import sys, kopf, kopf.cli\nfrom kopf.cli import main\n@kopf.on.create('kex')\ndef fn(**_): pass\nif __name__ == '__main__': sys.exit(kopf.cli.main())")
        self.assertNotIn("error", op.registration)
        self.assertIn("kopf.cli.main() is not for scripts in the sandbox", self.refused("from kopf.cli import main\nmain()"))
        for name in ("import kopf._core.engines.indexing", "from kopf._core.intents.causes import ChangingCause", "import kopf.structs.bodies"):
            self.assertIn("it is internal to Kopf, and not here", self.refused(name))

    def test_all_public_names_of_the_reference_are_there(self):
        import kopf
        names = Path(__file__).with_name("names.txt").read_text().split()
        self.assertEqual([name for name in names if not hasattr(kopf, name)], [])


if __name__ == "__main__":
    unittest.main()
