"""Async functions, waits, daemons, sub-handlers, requests: the steps of tasks."""

import contextlib
import gc
import io
import time
import unittest

from host import BODY, Operator
from kopf import _loop, _tasks


def operator(body, decorator="kopf.on.create('kex')", word="async def", args="name, logger, **kwargs"):
    lines = "\n".join("  " + line for line in body.splitlines())
    return Operator(f"import kopf, asyncio, time\n@{decorator}\n{word} fn({args}):\n{lines}\n")


class Asyncio(unittest.TestCase):
    def result(self, body):
        step = operator(body).run(0, BODY)
        self.assertNotIn("error", step, step.get("error", {}).get("stack"))
        return step["result"]

    def test_gather_task_groups_timeouts_queues_events(self):
        self.assertEqual(self.result("a, b = await asyncio.gather(asyncio.sleep(0.01, 'a'), asyncio.sleep(0.02, 'b'))\nreturn a + b"), "ab")
        self.assertEqual(self.result(
            "async with asyncio.TaskGroup() as g:\n  t = g.create_task(asyncio.sleep(0.01, 1))\nreturn t.result()"), 1)
        self.assertEqual(self.result("try:\n  async with asyncio.timeout(0.01): await asyncio.sleep(9)\nexcept TimeoutError: return 'late'"), "late")
        self.assertEqual(self.result("q = asyncio.Queue()\nasyncio.get_running_loop().call_later(0.01, q.put_nowait, 7)\nreturn await q.get()"), 7)
        self.assertEqual(self.result("e = asyncio.Event()\nasyncio.get_running_loop().call_soon(e.set)\nreturn await e.wait()"), True)
        self.assertEqual(self.result("return await asyncio.to_thread(lambda: 5)"), 5)

    def test_locks_of_the_script_are_for_all_handlers(self):
        op = Operator("import asyncio, kopf\nLOCK = asyncio.Lock()\nasync def work(n):\n  async with LOCK: await asyncio.sleep(0.001)\n  return n\n"
                      "@kopf.on.create('kex')\nasync def fn(**_): return await asyncio.gather(work(1), work(2))")
        self.assertEqual([op.run(0, BODY).get("result") for _ in range(2)], [[1, 2], [1, 2]])

    def test_a_kept_loop_is_the_running_one(self):
        op = Operator("import asyncio, kopf\nkept = []\n@kopf.on.create('kex')\nasync def fn(**_):\n  kept.append(asyncio.get_running_loop())\n"
                      "  loop, done = kept[0], kept[0].create_future()\n  loop.call_later(0.001, done.set_result, loop.is_closed())\n"
                      "  async def own(): return asyncio.current_task(loop) is asyncio.current_task()\n"
                      "  loop.call_soon(len, '')\n"
                      "  return [await done, await loop.create_task(own()), await loop.run_in_executor(None, len, 'a')]")
        self.assertEqual([op.run(0, BODY).get("result") for _ in range(2)], [[False, True, 1]] * 2)

    def test_loops_that_have_ended_are_not_called_unclosed(self):
        op = Operator("import gc, kopf, warnings\n@kopf.on.create('kex')\nasync def fn(**_):\n  with warnings.catch_warnings(record=True) as found:\n"
                      "    warnings.simplefilter('always')\n    gc.collect()\n  return [str(one.message) for one in found if 'event loop' in str(one.message)]")
        gc.collect()  # what other tests have left open
        self.assertEqual([op.run(0, BODY).get("result") for _ in range(2)], [[], []])

    def test_futures_of_kept_loops_are_those_of_all_daemons(self):
        op = Operator("import asyncio, kopf\nkept, waits = [], []\n@kopf.daemon('kex')\nasync def fn(**_):\n  kept.append(asyncio.get_running_loop())\n"
                      "  if len(kept) == 2:\n    waits.append(kept[0].create_future())\n    await waits[0]\n  else:\n    await asyncio.sleep(0.01)\n    waits[0].set_result(None)")
        self.assertEqual([round(op.start(0, BODY, task=task).get("seconds", 0), 2) for task in (1, 2)], [0.01, 0.05])
        time.sleep(0.02)
        self.assertEqual([op.resume(task) for task in (1, 2)], [{"step": "done"}] * 2)

    def test_daemons_wait_for_locks_of_each_other(self):
        op = Operator("import asyncio, kopf\nLOCK = asyncio.Lock()\n@kopf.daemon('kex')\nasync def fn(**_):\n  async with LOCK: await asyncio.sleep(0.1)")
        steps = [op.start(0, BODY, task=task) for task in (1, 2, 3)]
        self.assertEqual([round(step["seconds"], 2) for step in steps], [0.1, 0.05, 0.05], steps)
        self.assertEqual(op.resume(2), {"step": "wait", "seconds": 0.1})
        time.sleep(0.11)
        self.assertEqual(op.resume(1), {"step": "done"})
        self.assertAlmostEqual(op.resume(2)["seconds"], 0.1, 1)
        time.sleep(0.11)
        self.assertEqual([op.resume(2), op.resume(3)["step"]], [{"step": "done"}, "wait"])
        self.assertEqual(operator("await asyncio.Event().wait()", "kopf.daemon('kex')").start(0, BODY), {"step": "wait"})  # its own

    def test_a_wait_is_a_step(self):
        op = operator("await asyncio.sleep(30)\nreturn name")
        step = op.start(0, BODY)
        self.assertEqual((step["step"], round(step["seconds"])), ("wait", 30))
        self.assertNotIn("stoppable", step)

    def test_a_wait_for_nothing_has_no_limit(self):
        self.assertEqual(operator("await asyncio.Event().wait()").start(0, BODY), {"step": "wait"})

    def test_a_wait_for_no_number_is_over_at_once(self):
        self.assertEqual(operator("await asyncio.sleep(float('nan'))").start(0, BODY), {"step": "done"})

    def test_a_value_of_the_memo_that_cannot_be_kept_ends_the_handler_where_it_waits(self):
        for end in ("pass", "await asyncio.sleep(0.001)"):
            op = operator(f"memo.x = []\nmemo.x.append(lambda: 1)\ntry: await asyncio.sleep(5)\nfinally:\n  {end}\n  print('cleaned up')",
                          args="memo, **_")
            with contextlib.redirect_stdout(io.StringIO()) as output:
                step = op.run(0, BODY)
            self.assertIn("memo.x cannot be kept", step["error"]["message"])
            self.assertEqual((output.getvalue(), _tasks.tasks), ("cleaned up\n", {}))

    def test_code_that_never_waits_gives_the_host_a_turn(self):
        self.assertEqual(operator("while True: await asyncio.sleep(0)").start(0, BODY), {"step": "wait", "seconds": 0})

    def test_cancellation(self):
        op = operator("try: await asyncio.sleep(30)\nfinally: await asyncio.sleep(0.001); logger.info('clean')")
        op.start(0, BODY)
        step = op.resume(cancelled=True)
        while step["step"] == "wait":
            step = op.resume(cancelled=True)
        self.assertEqual(step["error"]["type"], "CancelledError")
        self.assertEqual(op.host.logs[-1][2], "clean")

    def test_a_cancellation_that_the_handler_raises_itself_is_an_error_to_retry(self):
        for word, body in (("async def", "task = asyncio.create_task(asyncio.sleep(9))\ntask.cancel()\nawait task"),
                           ("async def", "raise asyncio.CancelledError('own')"), ("def", "raise asyncio.CancelledError('own')")):
            step = operator(body, word=word).run(0, BODY)
            self.assertEqual((step["error"]["kind"], step["error"]["type"]), ("arbitrary", "CancelledError"))

    def test_locks_of_memos_are_new_for_each_handler(self):
        _loop._warned = False
        for lock in ("Lock()", "BoundedSemaphore(1)"):
            op = Operator(f"import asyncio, kopf\n@kopf.on.create('kex')\nasync def fn(memo, **_):\n  if 'lock' not in memo: memo.lock = asyncio.{lock}\n"
                          "  async with memo.lock: await asyncio.sleep(0.01)\n  return memo.lock.locked()")
            for task in (1, 2):
                self.assertIn("seconds", op.start(0, BODY, task=task))
            time.sleep(0.02)
            self.assertEqual([op.resume(task) for task in (1, 2)], [{"step": "done", "result": False}] * 2)
            self.assertEqual([text for _, level, text in op.host.logs if level == 30], [
                f"The {lock.partition('(')[0]} in a memo is copied: each handler gets one of its own, and waits for no other handler."] if lock == "Lock()" else [])

    def test_who_ignores_the_cancellation_is_warned_of(self):
        op = operator("while True:\n  try: await asyncio.sleep(30)\n  except asyncio.CancelledError: pass")
        op.start(0, BODY)
        for _ in range(3):
            self.assertEqual(op.resume(cancelled=True)["step"], "wait")
        self.assertEqual(len([text for _, level, text in op.host.logs if level == 30 and "is cancelled, but continues" in text]), 1)

    def test_sync_functions_run_loops_of_their_own(self):
        op = operator("return asyncio.run(asyncio.sleep(0.01, 3))", word="def")
        self.assertEqual(op.start(0, BODY)["result"], 3)
        op = operator("asyncio.run(kopf.execute(fns={'a': print}))", word="def")
        self.assertIn("make the handler `async def`", op.start(0, BODY)["error"]["message"])
        op = operator("asyncio.run(asyncio.Event().wait())", word="def")
        self.assertIn("cannot happen", op.start(0, BODY)["error"]["message"])


class Snapshots(unittest.TestCase):
    def test_the_calls_before_the_snapshot_leave_nothing(self):
        op = operator("return name")
        self.assertEqual((op.host.logs, op.host.events, op.host.memos, op.host.calls, len(op.handlers)), ([], [], {}, [], 1))
        self.assertEqual(op.start(0, BODY)["result"], "obj1")


class Daemons(unittest.TestCase):
    def test_async_daemons_wait_for_their_end(self):
        op = operator("while not stopped:\n  await stopped.wait(10)\nreturn", "kopf.daemon('kex')", args="stopped, logger, **_")
        step = op.start(0, BODY)
        self.assertTrue(step["stoppable"])
        self.assertEqual(round(step["seconds"]), 10)
        op.host.reasons = 0b10000
        self.assertEqual(op.resume(stopped=["operator_exiting"]), {"step": "done"})

    def test_reasons(self):
        op = operator("logger.info(stopped.reason.name)\nassert stopped and stopped.is_set() and stopped.reason in kopf.DaemonStoppingReason(24)\n",
                      "kopf.daemon('kex')", args="stopped, logger, **_")
        op.host.reasons = 0b10000
        self.assertEqual(op.start(0, BODY), {"step": "done"})
        self.assertEqual(op.host.logs[-1][2], "OPERATOR_EXITING")

    def test_sync_daemons_block(self):
        op = operator("n = 0\nwhile not stopped.wait(0.01): n += 1\nlogger.info(f'{n}')", "kopf.daemon('kex')", "def", "stopped, logger, **_")
        looks = iter([0] * 5)
        op.host.reasons = lambda: next(looks, 4)
        self.assertEqual(op.start(0, BODY), {"step": "done"})

    def test_daemons_see_the_newest_body(self):
        op = operator("logger.info(spec['field'])\nawait asyncio.sleep(0.001)\nlogger.info(spec['field'])", "kopf.daemon('kex')", args="spec, logger, **_")
        op.start(0, BODY)
        op.host.segments[7] = {"spec": {"field": "two"}}
        while op.resume()["step"] == "wait":
            pass
        self.assertEqual([text for _, level, text in op.host.logs if level == 20], ["one", "two"])


class Children(unittest.TestCase):
    SCRIPT = ("@kopf.subhandler(id='a', retries=2, when=lambda name, **_: name == 'obj1')\ndef a(param, **_): return 'A'\n"
              "kopf.register(lambda **_: 'B', id='b')\n")

    def children(self, op, step):
        self.assertEqual([(c["kind"], c["id"]) for c in step["children"]], [("sub", "a"), ("sub", "b")])
        return [op.start(n, BODY, task=100 + n, parent=op.number, kind="sub", id=f"fn/{'ab'[n]}")["result"] for n in (0, 1)]

    def test_declared_children_run_after_the_handler(self):
        for word in ("def", "async def"):
            op = operator(self.SCRIPT + "return 1", word=word)
            step = op.start(0, BODY)
            self.assertEqual((step["step"], step["result"]), ("done", 1))
            self.assertEqual(self.children(op, step), ["A", "B"])
            op.exchange.release(op.number)

    def test_children_share_the_patch_of_the_handler(self):
        script = ("kwargs['patch'].status['x'] = {'a': 1}\n@kopf.subhandler(id='a')\ndef a(patch, **_):\n"
                  "  kwargs['patch'].status['x'] = {'a': 1, 'b': 2}\n  patch.spec['y'] = 3\n"
                  "  @kopf.subhandler(id='c')\n  def c(**_):\n    kwargs['patch'].status['z'] = None\n    kwargs['patch'].fns.append(print)\n"
                  "@kopf.subhandler(id='b')\ndef b(**_): pass\n")
        op = operator(script)
        self.assertEqual(op.start(0, BODY)["patch"], {"status": {"x": {"a": 1}}})
        patches = []
        for n, task, parent, name in ((0, 100, op.number, "a"), (0, 101, 100, "a/c"), (1, 102, op.number, "b")):
            step = op.start(n, BODY, task=task, parent=parent, kind="sub", id=f"fn/{name}")
            patches.append((step.get("patch"), step.get("transforms", 0)))
        self.assertEqual(patches, [({"status": {"x": {"b": 2}}, "spec": {"y": 3}}, 0), ({"status": {"z": None}}, 1), (None, 0)])

    def test_execute_runs_them_at_once(self):
        op = operator(self.SCRIPT + "await kopf.execute(lifecycle=kopf.lifecycles.all_at_once)\nreturn 2")
        step = op.start(0, BODY)
        self.assertEqual((step["step"], step["lifecycle"]), ("execute", "all_at_once"))
        self.assertEqual(self.children(op, step), ["A", "B"])
        self.assertEqual(op.resume(), {"step": "done", "result": 2})

    def test_children_after_execute_are_forgotten(self):
        op = operator("await kopf.execute()\n" + self.SCRIPT + "return 1")
        self.assertEqual(op.start(0, BODY), {"step": "done", "result": 1})

    def test_children_of_gathered_calls_keep_their_functions(self):
        op = operator("async def a(**_): return 'A'\nasync def b(**_): return 'B'\n"
                      "await asyncio.gather(kopf.execute(fns={'a': a}), kopf.execute(fns={'b': b}))")
        step = op.start(0, BODY)
        for name in "ab":
            self.assertEqual([child["id"] for child in step["children"]], [name])
            self.assertEqual(op.start(0, BODY, task=100, parent=op.number, kind="sub", id=f"fn/{name}")["result"], name.upper())
            step = op.resume(1)
        self.assertEqual(step, {"step": "done"})

    def test_children_see_context_variables(self):
        op = operator("import contextvars\nvar = contextvars.ContextVar('var')\nvar.set(name)\n"
                      "async def a(**_): return var.get(None)\nawait kopf.execute(fns={'a': a})")
        op.start(0, BODY)
        self.assertEqual(op.start(0, BODY, task=100, parent=op.number, kind="sub", id="fn/a")["result"], "obj1")

    def test_errors_of_filters_of_children_are_errors_of_the_parent(self):
        op = operator("@kopf.subhandler(id='a', when=lambda **_: {}['x'])\ndef a(**_): pass")
        op.start(0, BODY)
        error = op.ask(0, {"option": "when"}, body=BODY, item={"parent": op.number})["error"]
        self.assertEqual((error["message"], error["type"]), ("'x'", "KeyError"))

    def test_a_patch_that_cannot_be_sent_ends_the_handler(self):
        op = operator("kwargs['patch'].status['x'] = print\nkopf.register(print, id='x')\nawait kopf.execute()")
        step = op.start(0, BODY)
        self.assertEqual(step["step"], "done")
        self.assertIn("the patch of handler 'fn' cannot be sent", step["error"]["message"])
        self.assertEqual(_tasks.tasks, {})

    def test_unfinished_children_end_the_handler(self):
        op = operator("async def x(**_): pass\nawait kopf.execute(fns={'a': x})")
        op.start(0, BODY)
        self.assertEqual(op.resume(pending=True)["error"]["kind"], "children")

    def test_old_and_new_are_for_children_of_updates_and_of_children(self):
        script = "def nested(**_): kopf.subhandler(id='x', field='spec.x', old=1)(print)\n"
        op = operator(script + "kopf.register(nested, id='n')")
        op.start(0, BODY)
        step = op.start(0, BODY, task=100, parent=op.number, kind="sub", id="fn/n")
        self.assertEqual([child["old"] for child in step["children"]], [1])
        op = operator(script + "nested()")
        self.assertEqual(op.start(0, BODY)["error"]["message"], "Filters old=/new= can only be used in update handlers.")

    def test_only_changes_have_children(self):
        op = operator("kopf.register(print, id='x')", "kopf.on.event('kex')")
        self.assertIn("only supported for resource-changing", op.start(0, BODY)["error"]["message"])


class Requests(unittest.TestCase):
    def test_requests_are_steps(self):
        op = operator("pod = await kopf.api('v1', 'pods').get('x')\nreturn pod['kind']")
        self.assertEqual(op.start(0, BODY), {"step": "call", "call": {
            "target": "kubernetes", "method": "GET", "path": "/api/v1/namespaces/ns1/pods/x"}})
        self.assertEqual(op.resume(response={"status": 200, "body": {"kind": "Pod"}})["result"], "Pod")

    def test_refusals_are_exceptions(self):
        op = operator("await kopf.fetch('https://example.com', json={'a': 1}, timeout=3)")
        self.assertEqual(op.start(0, BODY)["call"], {
            "target": "http", "method": "POST", "path": "https://example.com", "headers": {"Content-Type": ["application/json"]},
            "body": '{"a":1}', "timeout": 3})
        error = op.resume(error={"type": "NotGranted", "kind": "permanent", "message": "grant it with --allow-host example.com"})["error"]
        self.assertEqual((error["kind"], error["message"]), ("permanent", "grant it with --allow-host example.com"))
        op = operator("await kopf.fetch('https://example.com', json=1, headers={'content-type': 'application/x+json'})")
        self.assertEqual(op.start(0, BODY)["call"]["headers"], {"content-type": ["application/x+json"]})
        op = operator("await kopf.api('apps/v1', 'deployments', namespace=None).delete('x')")
        op.start(0, BODY)
        error = op.resume(response={"status": 409, "body": {"message": "busy"}})["error"]
        self.assertEqual((error["kind"], error["type"], error["message"]), ("arbitrary", "APIError", "busy"))

    def test_requests_that_cannot_be_sent_are_exceptions(self):
        for option in ("timeout=float('inf')", "timeout=print", "body=print"):
            op = operator(f"try: await kopf.fetch('https://a', {option})\nexcept TypeError as error: logger.info(f'{{error}}')\n"
                          "return (await kopf.fetch('https://b')).text")
            self.assertEqual(op.start(0, BODY)["call"]["path"], "https://b")
            self.assertIn("the request cannot be sent", op.host.logs[-1][2])
            self.assertEqual(op.resume(response={"status": 200, "body": "B"})["result"], "B")

    def test_gathered_requests_are_made_one_after_another(self):
        op = operator("a, b = await asyncio.gather(kopf.fetch('https://a'), kopf.fetch('https://b'))\nreturn a.text + b.text")
        self.assertEqual(op.start(0, BODY)["call"]["path"], "https://a")
        self.assertEqual(op.resume(response={"status": 200, "body": "A"})["call"]["path"], "https://b")
        self.assertEqual(op.resume(response={"status": 200, "body": "B"})["result"], "AB")


if __name__ == "__main__":
    unittest.main()
