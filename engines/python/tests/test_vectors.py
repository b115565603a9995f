"""Pure functions of the library against the recorded ones of the reference: test/conformance/vectors.

The host judges the other vectors (test/vectors): it matches filters, orders handlers, and stores state.
"""

import copy
import itertools
import json
import unittest
import warnings
from pathlib import Path
from types import SimpleNamespace

import host  # noqa: F401  makes the library importable
import kopf
from kopf import _bodies, _calls, _diffs, _hierarchies, _views

FOLDER = Path(__file__).parents[3] / "test" / "conformance" / "vectors"

# Mistakes that the library refuses in words of its own, because it says where or what to do.
OWN_WORDS = {"declarations"}


def cases(name):
    """Return the recorded cases of a function."""
    return json.loads((FOLDER / f"{name}.json").read_text())["cases"]


def attempt(call, given):
    """Return the outcome of a call in the form of the recordings."""
    try:
        return {"out": json.loads(json.dumps(call(**given)))}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def in_any_order(items):
    return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))


class Vectors(unittest.TestCase):
    maxDiff = None

    def judge(self, name, call, *, chosen=lambda case: True, normal=lambda out: out):
        """Compare all chosen cases of a function."""
        judged = 0
        for case in filter(chosen, cases(name)):
            judged += 1
            got = attempt(call, copy.deepcopy(case["in"]))
            want = {key: value for key, value in case.items() if key != "in"}
            with self.subTest(vectors=name, given=case["in"]):
                if name in OWN_WORDS and "error" in want:
                    self.assertEqual(got.get("error", "none").split(":")[0], want["error"].split(":")[0])
                elif "out" in want and "out" in got:
                    self.assertEqual(normal(got["out"]), normal(want["out"]))
                else:
                    self.assertEqual(got, want)
        self.assertGreater(judged, 0)

    def test_paths_of_fields(self):
        self.judge("field-paths", lambda field: _views.parse_field(field))

    def test_values_at_paths(self):
        self.judge("dict-resolve", lambda d, field, **default: _views.resolve(d, field, **default))

    def test_objects_in_lists(self):
        self.judge("dict-walk", lambda objs, nested: list(_hierarchies.walk(objs, nested=nested)))

    def test_differences(self):
        self.judge("diffs", lambda a, b, scope: list(_diffs.diff(a, b)), normal=in_any_order,
                   chosen=lambda case: case["in"]["scope"] == "full")  # the other scopes are those of filters

    def test_differences_within_a_field(self):
        def reduced(a, b, path):
            return list(_diffs.diff(_at(a, path), _at(b, path)))

        # The host reduces the differences that handlers of fields get. Here: those of the two values, which
        # are equal to the reduced ones if the objects have the field on both sides.
        self.judge("diff-reduce", reduced, normal=in_any_order, chosen=lambda case: _within(case["in"]))

    def test_children(self):
        def change(fn, objs, owner=None, kwargs=None, outside_of_handlers=False, **named):
            args = [named[key] for key in ("labels", "name", "namespace") if key in named]
            given = dict(kwargs or {})
            if owner is not None:
                given["owner"] = owner
            getattr(kopf, fn)(objs, *args, **given)
            return objs

        self.judge("hierarchies", change)

    def test_references(self):
        self.judge("references", lambda fn, body, kwargs: getattr(_bodies, fn)(body, **kwargs))

    def test_json_patches(self):
        self.judge("json-patches", lambda body, patch: kopf.Patch(patch, body=body).as_json_patch(body), normal=in_any_order)

    def test_lifecycles(self):
        def chosen(lifecycle, retries):
            state = {name: SimpleNamespace(retries=count) for name, count in retries.items()}
            return [handler.id for handler in getattr(kopf.lifecycles, lifecycle)([SimpleNamespace(id=name) for name in retries], state=state)]

        self.judge("lifecycles", chosen)

    def test_urls_of_resources(self):
        def url(resource, namespaced, **given):
            plural, version, group = (resource.split(".", 2) + [""])[:3]
            return kopf.Resource(group, version, plural, namespaced=namespaced).get_url(**given)

        self.judge("resource-urls", url)

    def test_ids_of_functions(self):
        def fn(**_):
            pass

        class C:
            def m(self, **_):
                pass

        fn.__qualname__, C.m.__qualname__ = "fn", "C.m"
        functions = {"fn": fn, "C.m": C().m}
        self.judge("handler-ids", lambda function, **_: _calls.id_of(functions[function]),
                   chosen=lambda case: case["in"]["function"] in functions and all(case["in"][key] is None for key in ("id", "prefix", "suffix")))

    def test_declarations(self):
        def declare(decorator, args, kwargs):
            registry = kopf.OperatorRegistry()

            @getattr(kopf.on, decorator)(*args, registry=registry, **kwargs)
            def fn(**_):
                pass

            return registry.handlers[0].declaration

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Only what the library decides itself: the mistakes. It hands options through to the host.
            self.judge("declarations", declare, chosen=lambda case: "error" in case)

    def test_combined_callbacks(self):
        for values in itertools.product((False, True), repeat=2):
            fns = [lambda value=value, **_: value for value in values]
            with self.subTest(values=values):
                got = [combine(fns)() for combine in (kopf.all_, kopf.any_, kopf.none_)] + [kopf.not_(fns[0])()]
                self.assertEqual(got, [all(values), any(values), not any(values), not values[0]])


def _at(value, path):
    return _views.resolve(value, path, None)


def _within(given):
    absent = object()
    return all(_views.resolve(given[side], given["path"], absent) is not absent for side in "ab")


if __name__ == "__main__":
    unittest.main()
