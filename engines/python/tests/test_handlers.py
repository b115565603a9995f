"""Decorators, filters, arguments, and results of handlers."""

import unittest

from host import BODY, Operator


class Registration(unittest.TestCase):
    def declared(self, script):
        operator = Operator("import kopf, functools\n" + script)
        self.assertNotIn("error", operator.registration)
        return operator.handlers

    def test_stacked_decorators_are_one_function(self):
        handlers = self.declared("@kopf.on.create('kex')\n@kopf.on.update('kex', field='spec.x', id='u')\ndef fn(**_): pass")
        self.assertEqual([h["id"] for h in handlers], ["u", "fn"])
        self.assertEqual({h["fn"].split("#")[1] for h in handlers}, {"0"})
        self.assertEqual(handlers[0]["field"], ["spec", "x"])

    def test_methods_of_an_object_are_one_function(self):
        handlers = self.declared("class A:\n  def m(self, **_): pass\na, b = A(), A()\n"
                                 "for fn in (a.m, a.m, b.m): kopf.on.create('kex')(fn)")
        self.assertEqual([h["fn"] for h in handlers], ["A.m#0", "A.m#0", "A.m#1"])

    def test_selectors(self):
        handlers = self.declared(
            "def fn(**_): pass\n"
            "for args in (('kex',), ('kopf.dev', 'v1', 'kex'), ('kopf.dev', kopf.EVERYTHING)): kopf.on.event(*args)(fn)\n"
            "kopf.on.event(group='kopf.dev', plural='kex')(fn)\nkopf.on.event(lambda r: r.group == 'x')(fn)\n"
            "kopf.on.event('kex', version='v1')(fn)\nkopf.on.event(lambda r: True, group='kopf.dev')(fn)\n"
            "kopf.on.event(group='', version='v1', kind='Service')(fn)\nkopf.on.event(group='', plural='pods')(fn)")
        self.assertEqual([h["resource"] for h in handlers], [
            {"args": ["kex"]}, {"args": ["kopf.dev", "v1", "kex"]}, {"args": ["kopf.dev", {"$": "EVERYTHING"}]},
            {"group": "kopf.dev", "plural": "kex"}, {"function": True},
            {"version": "v1", "args": ["kex"]}, {"function": True, "group": "kopf.dev"},
            {"group": "", "version": "v1", "kind": "Service"}, {"group": "", "plural": "pods"}])

    def test_selectors_by_arguments_and_options(self):
        handlers = self.declared(
            "def fn(**_): pass\ndef ours(resource, **_): return True\nkopf.on.event('kex', version='v1')(fn)\n"
            "kopf.on.event(kopf.EVERYTHING, group='')(fn)\nkopf.on.event(ours, group='kopf.dev')(fn)")
        self.assertEqual([h["resource"] for h in handlers], [
            {"args": ["kex"], "version": "v1"}, {"args": [{"$": "EVERYTHING"}], "group": ""}, {"function": True, "group": "kopf.dev"}])

    def test_options_and_filters(self):
        [handler] = self.declared(
            "@kopf.on.update('kex', field='spec.x', old=kopf.ABSENT, new={'$': 1}, labels={'a': kopf.PRESENT, 'b': lambda v, **_: True},\n"
            "  when=lambda **_: True, errors=kopf.ErrorsMode.PERMANENT, timeout=5, retries=3, backoff=1.5, param={'x': 1})\ndef fn(**_): pass")
        handler.pop("fn"), handler.pop("id")
        self.assertEqual(handler, {
            "kind": "update", "resource": {"args": ["kex"]}, "field": ["spec", "x"], "old": {"$": "ABSENT"},
            "new": {"$": "VALUE", "value": {"$": 1}}, "labels": {"a": {"$": "PRESENT"}, "b": {"$": "FUNCTION"}}, "when": {"$": "FUNCTION"},
            "errors": "PERMANENT", "timeout": 5, "retries": 3, "backoff": 1.5, "param": {"x": 1}})

    def test_lists_of_operations_keep_their_order(self):
        handlers = self.declared("for ops in (['UPDATE', 'DELETE'], {'UPDATE', 'DELETE'}): kopf.on.validate('kex', operations=ops)(lambda **_: None)")
        self.assertEqual([h["operations"] for h in handlers], [["UPDATE", "DELETE"], ["DELETE", "UPDATE"]])

    def test_filters_of_wrong_types_are_named(self):
        for option, message in (("labels='x'", "labels: filters are a dict by keys"), ("labels={'a': re.compile('x')}", "the filter labels cannot be re.compile('x')")):
            operator = Operator(f"import kopf, re\n@kopf.on.create('kex', {option})\ndef fn(**_): pass")
            self.assertIn(message, operator.registration["error"])

    def test_rights_add_up(self):
        operator = Operator("import kopf\nkopf.wants(http=['a.example'], config=['x'])\nkopf.wants(http=['b.example'])\n@kopf.on.create('kex')\ndef fn(**_): pass")
        self.assertEqual(operator.registration["capabilities"], {"http": ["a.example", "b.example"], "config": ["x"]})
        operator = Operator("import kopf\nkopf.wants(http='a.example')\n@kopf.on.create('kex')\ndef fn(**_): pass")
        self.assertIn("kopf.wants: http is a list, not 'a.example'", operator.registration["error"])
        for rule in ("'get:pods'", "{'groups': [''], 'resource': ['pods'], 'verbs': ['get']}"):
            operator = Operator(f"import kopf\nkopf.wants(kubernetes=[{rule}])\n@kopf.on.create('kex')\ndef fn(**_): pass")
            self.assertIn(f"kopf.wants: a rule is a dict of groups, resources, verbs and namespaces, not {rule}", operator.registration["error"])

    def test_one_operation_is_not_its_letters(self):
        [handler] = self.declared("kopf.on.validate('kex', operations='CREATE')(lambda **_: None)")
        self.assertEqual(handler["operations"], ["CREATE"])

    def test_ids_are_those_of_the_reference(self):
        handlers = self.declared(
            "import functools\nclass A:\n  def method(self, **_): pass\n"
            "def outer():\n  def inner(**_): pass\n  return inner\n"
            "def deco(fn):\n  @functools.wraps(fn)\n  def wrapper(**kw): return fn(**kw)\n  return wrapper\n"
            "@deco\ndef decorated(**_): pass\n"
            "for fn in (A().method, outer(), decorated, functools.partial(outer(), x=1), lambda **_: 1): kopf.on.create('kex')(fn)")
        self.assertEqual([h["id"] for h in handlers], [
            "A.method", "outer.<locals>.inner", "decorated", "outer.<locals>.inner", "lambda:operator.py:14"])

    def test_sync_daemons_have_instances_of_their_own(self):
        for word, shared in (("async def", True), ("def", False)):
            operator = Operator(f"import kopf\n@kopf.daemon('kex')\n{word} fn(**_): pass")
            self.assertEqual(operator.registration["shared_tasks"], shared)

    def test_all_kinds_have_their_options(self):
        self.declared(
            "def fn(**_): pass\n"
            "for on in (kopf.on.startup, kopf.on.cleanup, kopf.on.login, kopf.on.probe): on(id=on.__name__, retries=1, param=1)(fn)\n"
            "kopf.on.validate('kex', operations=['CREATE'], subresource='*', persistent=True, side_effects=True, ignore_failures=True)(fn)\n"
            "kopf.on.mutate('kex', operation='UPDATE')(fn)\nkopf.on.resume('kex', deleted=True)(fn)\nkopf.on.delete('kex', optional=True)(fn)\n"
            "kopf.timer('kex', interval=1, idle=2, sharp=True, initial_delay=lambda **_: 3)(fn)\nkopf.index('kex')(fn)\n"
            "kopf.daemon('kex', cancellation_backoff=1, cancellation_timeout=2, cancellation_polling=3, initial_delay=4)(fn)\n"
            "kopf.on.field('kex', field=['spec', 'a.b'])(fn)\nkopf.on.convert('kex', from_='v1', to='v2')(fn)")

    def test_lifecycles(self):
        operator = Operator("import kopf\nkopf.set_default_lifecycle(kopf.lifecycles.all_at_once)\n@kopf.on.event('kex')\ndef fn(**_): pass")
        self.assertEqual(operator.registration["lifecycle"], "all_at_once")


class Arguments(unittest.TestCase):
    def names(self, decorator, **header):
        operator = Operator(f"import kopf\n@{decorator}\ndef fn(**kwargs): return sorted(kwargs)\n"
                            "@kopf.on.create('other')\ndef other(**_): pass")
        step = operator.run(0, BODY if "resource" not in header else None, **header)
        if "error" in step:
            self.fail(step["error"]["stack"])
        return step.get("result")

    COMMON = {"annotations", "body", "labels", "logger", "memo", "meta", "name", "namespace", "param", "patch", "resource", "retry",
              "runtime", "spec", "started", "status", "uid"}

    def test_each_kind_gets_the_names_of_the_reference(self):
        self.assertEqual(set(self.names("kopf.on.create('kex')", reason="create")), {*self.COMMON, "diff", "new", "old", "reason"})
        self.assertEqual(set(self.names("kopf.timer('kex', interval=1)")), {*self.COMMON, "stopped"})

    def test_names_that_are_not_used_are_not_built(self):
        operator = Operator("import kopf\n@kopf.on.create('kex')\ndef fn(spec, **_): return dict(spec)")
        operator.host.segment = None  # a call would fail
        self.assertEqual(operator.run(0, BODY)["result"], BODY["spec"])

    def test_views(self):
        operator = Operator(
            "import kopf, datetime\n@kopf.on.update('kex')\n"
            "def fn(body, spec, meta, status, labels, name, namespace, uid, started, runtime, retry, reason, old, new, diff, resource, **_):\n"
            "  assert body.spec['field'] == spec['field'] == spec.get('field') == 'one' and body['kind'] == 'KopfExample'\n"
            "  assert meta.name == name == 'obj1' and meta.uid == uid and namespace == 'ns1' and meta.labels == labels == {'app': 'web'}\n"
            "  assert spec.get('no') is None and 'no' not in spec and len(spec) == 3 and status['ready'] is True\n"
            "  assert started == datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc) and runtime.total_seconds() == 1.5\n"
            "  assert reason is kopf.Reason.UPDATE and f'{reason}' == 'update' and retry == 0\n"
            "  op, path, o, n = diff[0]\n"
            "  assert (op, path, o, n) == ('change', ('spec', 'field'), 'zero', 'one') == diff[0] and diff[0].op is kopf.DiffOperation.CHANGE\n"
            "  assert old['spec'] == {'field': 'zero'} and new['spec'] == {'field': 'one'}\n"
            "  assert resource.plural == 'kopfexamples' and resource.get_url(namespace='x') == '/apis/kopf.dev/v1/namespaces/x/kopfexamples'\n")
        operator.host.segments = {3: {"spec": {"field": "zero"}}, 4: {"spec": {"field": "one"}},
                                  5: [["change", ["spec", "field"], "zero", "one"]]}
        self.assertEqual(operator.run(0, BODY, reason="update"), {"step": "done"})

    def test_methods_and_partials_are_called(self):
        operator = Operator("import kopf, functools\nclass A:\n  async def m(self, name, **_): return name\nkopf.on.create('kex')(A().m)\n"
                            "def f(x, name, **_): return x + name\nkopf.on.create('kex')(functools.partial(f, 'x-'))")
        self.assertEqual([operator.run(n, BODY)["result"] for n in (0, 1)], ["obj1", "x-obj1"])

    def test_results_of_each_kind_are_kept(self):
        for decorator in ("on.create('kex')", "on.event('kex')", "daemon('kex')", "timer('kex', interval=1)"):
            operator = Operator(f"import kopf\n@kopf.{decorator}\nasync def fn(**_): return {{'a': 1}}")
            self.assertEqual(operator.run(0, BODY)["result"], {"a": 1}, decorator)

    def test_admission(self):
        operator = Operator(
            "import kopf\n@kopf.on.mutate('kex')\ndef fn(operation, dryrun, userinfo, headers, warnings, patch, old, new, subresource, **_):\n"
            "  warnings.append('careful')\n  patch.spec['x'] = 1\n"
            "  assert (operation, dryrun, userinfo['username'], headers['Accept']) == ('CREATE', True, 'u', 'application/json')\n"
            "  assert old is None and new.spec['a'] == 1\n  raise kopf.AdmissionError('no', code=403)")
        operator.host.segments = {4: {"spec": {"a": 1}}}
        admission = {"operation": "CREATE", "dryrun": True, "userinfo": {"username": "u"}, "headers": {"Accept": ["application/json"]}}
        step = operator.run(0, BODY, admission=admission)
        self.assertEqual((step["warnings"], step["patch"]), (["careful"], {"spec": {"x": 1}}))
        self.assertEqual({key: step["error"][key] for key in ("kind", "message", "code")}, {"kind": "admission", "message": "no", "code": 403})

    def test_conversions(self):
        operator = Operator("import kopf\n@kopf.on.convert('kex')\ndef fn(body, conversion, **_): return {**body, 'spec': conversion}")
        step = operator.run(0, BODY, conversion={"from": "v1", "to": "v2"})
        self.assertEqual(step["result"]["spec"], {"from": "v1", "to": "v2"})


class Filters(unittest.TestCase):
    def test_callbacks_get_values_and_arguments(self):
        operator = Operator(
            "import kopf\n@kopf.on.update('kex', field='spec.x', value=lambda v, name, **_: v == name, labels={'a': lambda v, **_: v is None},\n"
            "  when=kopf.all_([lambda spec, **_: spec['field'] == 'one', kopf.not_(kopf.any_([lambda **_: False]))]))\ndef fn(**_): pass\n"
            "@kopf.on.event(lambda r: r.plural == 'kopfexamples')\ndef ev(**_): pass\n"
            "@kopf.timer('kex', interval=1, initial_delay=lambda name, **_: len(name))\ndef t(**_): pass\n"
            "@kopf.on.event('kex', when=lambda type, **_: 1/0)\ndef bad(**_): pass")
        ask = operator.ask
        self.assertEqual(ask(0, {"option": "value", "values": [{"value": "no"}, {"value": "obj1"}]}, {"option": "when"},
                             {"option": "labels", "key": "a", "values": [{"absent": True}]}, body=BODY, name="obj1"), {"value": True})
        self.assertEqual(ask(0, {"option": "value", "values": [{"absent": True}]}, body=BODY), {"value": False})
        self.assertEqual(ask(1, {"option": "resource"}), {"value": True})
        self.assertEqual(ask(2, {"option": "initial_delay"}, body=BODY, name="obj1"), {"value": 4})
        self.assertEqual(ask(3, {"option": "when"}, body=BODY)["error"]["type"], "ZeroDivisionError")

    def test_filters_fail_alone(self):
        for code, message in (("sys.exit(1)", "SystemExit: 1"), ("kopf.register(print, id='x')", "only supported for resource-changing")):
            operator = Operator(f"import kopf, sys\n@kopf.on.create('kex', when=lambda **_: {code})\ndef fn(**_): pass")
            self.assertIn(message, operator.ask(0, {"option": "when"}, body=BODY)["error"]["message"])
        operator = Operator("import kopf\ndef is_own(**_):\n  child = {}\n  kopf.adopt(child)\n  return child['metadata']['generateName'] == 'obj1-'\n"
                            "@kopf.on.create('kex', when=is_own)\ndef fn(**_): pass")
        self.assertEqual(operator.ask(0, {"option": "when"}, body=BODY, name="obj1"), {"value": True})

    def test_delays_are_numbers(self):
        operator = Operator("import kopf\n@kopf.timer('kex', interval=1, initial_delay=lambda **_: float('inf'))\ndef fn(**_): pass")
        self.assertIn("not inf", operator.ask(0, {"option": "initial_delay"}, body=BODY)["error"]["message"])

    def test_async_filters_are_errors(self):
        for when in ("w", "kopf.not_(w)", "kopf.all_([w])", "kopf.any_([w])", "kopf.none_([w])"):
            operator = Operator(f"import kopf\nasync def w(**_): return True\n@kopf.on.event('kex', when={when})\ndef fn(**_): pass")
            self.assertIn("cannot wait", operator.ask(0, {"option": "when"}, body=BODY)["error"]["message"])


class Results(unittest.TestCase):
    def step(self, code, **header):
        return Operator(f"import kopf, asyncio\n@kopf.on.create('kex')\ndef fn(patch, spec, **_):\n  {code}").run(0, BODY, **header)

    def test_patches(self):
        step = self.step("patch.status['a'] = 1; patch.meta.labels['l'] = None; patch.spec.update(b=2); patch['data'] = {'c': 3}")
        self.assertEqual(step["patch"], {
            "status": {"a": 1}, "metadata": {"labels": {"l": None}}, "spec": {"b": 2}, "data": {"c": 3}})
        self.assertEqual(self.step("patch.status.get('x'); patch.meta.labels"), {"step": "done"})

    def test_functions_of_patches_edit_the_body(self):
        operator = Operator("import kopf\n@kopf.on.create('kex')\ndef fn(patch, **_):\n"
                            "  patch.fns.append(lambda body: body['spec'].update(x=1))\n  patch.fns.append(lambda body: body['spec'].pop('field'))")
        self.assertEqual(operator.run(0, BODY)["transforms"], 2)
        self.assertEqual(operator.transform({"spec": {"field": 1}}), {"body": {"spec": {"x": 1}}})
        self.assertEqual(operator.transform({"spec": {}})["error"]["type"], "KeyError")
        for fn, message in (("asyncio.sleep(0)", "functions of patches cannot wait"), ("sys.exit(1)", "1")):
            operator = Operator(f"import asyncio, kopf, sys\n@kopf.on.create('kex')\ndef fn(patch, **_): patch.fns.append(lambda body: {fn})")
            operator.run(0, BODY)
            self.assertIn(message, operator.transform({"spec": {}})["error"]["message"])
        operator.exchange.release(operator.number)

    def test_errors(self):
        for code, kind, message in (
            ("raise kopf.TemporaryError('t', delay=5)", "temporary", "t"), ("raise kopf.PermanentError('p')", "permanent", "p"),
            ("raise ValueError('v')", "arbitrary", "v"), ("raise kopf.HandlerRetriesError('h')", "permanent", "h"), ("1/0", "arbitrary", "division by zero"),
        ):
            error = self.step(code)["error"]
            self.assertEqual((error["kind"], error["message"]), (kind, message))
            self.assertIn(f"operator.py\", line 4, in fn\n    {code}", error["stack"])
            self.assertNotIn("kopf/_", error["stack"])
        self.assertEqual(self.step("raise kopf.TemporaryError('t', delay=5)")["error"]["delay"], 5)
        self.assertIsNone(self.step("raise kopf.TemporaryError('t', delay=None)")["error"]["delay"])

    def test_delays_of_errors_are_numbers(self):
        for delay in ("float('inf')", "'5'"):
            self.assertIn("its delay is a number", self.step(f"raise kopf.TemporaryError('t', delay={delay})")["error"]["message"])
        error = Operator("import kopf\nclass E(kopf.TemporaryError):\n  def __init__(self): pass\n@kopf.on.create('kex')\ndef fn(**_): raise E").run(0, BODY)["error"]
        self.assertEqual((error["kind"], error["delay"]), ("temporary", 60))

    def test_patches_hold_after_errors(self):
        self.assertEqual(self.step("patch.status['x'] = 1; raise ValueError()")["patch"], {"status": {"x": 1}})

    def test_what_json_cannot_hold_is_an_error(self):
        self.assertIn("returns what JSON cannot hold: object is no", self.step("return object()")["error"]["message"])
        self.assertIn("float", self.step("return float('nan')")["error"]["message"])
        self.assertIn("the patch of handler 'fn'", self.step("patch.status['x'] = object()")["error"]["message"])

    def test_views_are_results(self):
        self.assertEqual(self.step("return spec")["result"], BODY["spec"])
        self.assertEqual(self.step("return {'a': (1, {2})}")["result"], {"a": [1, [2]]})

    def test_a_changed_spec_is_an_error_with_the_way_to_do_it(self):
        error = self.step("spec['x'] = 1")["error"]
        self.assertEqual(error["type"], "TypeError")
        self.assertIn("patch.spec['x'] = 1", error["message"])

    def test_errors_without_a_text_have_their_representation(self):
        self.assertEqual(self.step("raise kopf.PermanentError")["error"]["type"], "PermanentError()")
        self.assertEqual(self.step("raise kopf.TemporaryError('')")["error"]["type"], "TemporaryError('')")
        self.assertEqual(self.step("raise ValueError('x')")["error"]["type"], "ValueError")
        silent = "type('Silent', (Exception,), {'__str__': lambda self: '', '__repr__': lambda self: 1 / 0})"
        self.assertEqual(self.step(f"raise {silent}()")["error"]["type"], "Silent")

    def test_handlers_cannot_end_the_operator(self):
        self.assertIn("cannot end the operator", self.step("raise SystemExit(3)")["error"]["message"])

    def test_startup_handlers_can_end_it(self):
        for word in ("def", "async def"):
            error = Operator(f"import kopf, sys\n@kopf.on.startup()\n{word} fn(**_): sys.exit(1)").run(0)["error"]
            self.assertEqual((error["kind"], error["message"]), ("permanent", "SystemExit: 1"))
            self.assertIn("line 3, in fn", error["stack"])


if __name__ == "__main__":
    unittest.main()
