"""
The modes of comparison: from `exact` to `ignore`. See README.md, expected.json.

Every function returns a list of mismatches for people; an empty list means equality.
"""
import collections
import copy
import json

from .observations import SECTIONS


def compare_all(expected, got):
    """Compare all sections that were recorded."""
    out = []
    for section in SECTIONS:
        if section in expected:
            mode = expected['compare'].get(section)
            out += [f'{section}: {m}' for m in compare(mode, expected[section], got.get(section))]
    return out


def compare(mode, expected, got):
    """Compare one section; the mode is a dictionary with the name and the parameters, or None."""
    mode = mode or {}
    if mode.get('touches') == 'ignore':
        expected, got = untouched(expected), untouched(got)
    if mode.get('volatile'):
        expected, got = blank(expected, mode['volatile']), blank(got, mode['volatile'])
    return MODES[mode.get('mode', 'exact')](mode, expected, got)


def _ignore(mode, expected, got):
    return []


def same(x, y):
    """Equality of JSON: in Python, true equals 1."""
    if isinstance(x, dict) and isinstance(y, dict):
        return x.keys() == y.keys() and all(same(x[k], y[k]) for k in x)
    if isinstance(x, list) and isinstance(y, list):
        return len(x) == len(y) and all(map(same, x, y))
    return x == y and isinstance(x, bool) == isinstance(y, bool)


def _exact(mode, expected, got):
    if same(expected, got):
        return []
    if isinstance(expected, list) and isinstance(got, list):
        pairs = [(at(expected, i), at(got, i)) for i in range(max(len(expected), len(got)))]
        where = next((i for i, (x, y) in enumerate(pairs) if not same(x, y)), None)
        # Only types differ if nothing was found, as with a null after the end.
        return [difference(f'item {where}', *pairs[where])] if where is not None else [f'expected {len(expected)} items, got {len(got)}']
    if isinstance(expected, dict) and isinstance(got, dict):
        return [difference(k, expected.get(k), got.get(k))
                for k in sorted(set(expected) | set(got)) if k not in expected or k not in got or not same(expected[k], got[k])]
    return [f'expected {dumps(expected)[:500]}, got {dumps(got)[:500]}']


def _approx(mode, expected, got):
    a, b = [x['of'] for x in expected], [x['of'] for x in got]
    if a != b:
        return [f'expected {a}, got {b}']
    return [f'{x["of"]}: expected ~{x["seconds"]}s, got {y["seconds"]}s' for x, y in zip(expected, got)
            if abs(x['seconds'] - y['seconds']) > mode.get('tolerance', 0.75)]


def _grouped(key, inner):
    def fn(mode, expected, got):
        a, b = grouped(expected, key), grouped(got, key)
        return [f'{group}: {m}' for group in sorted(set(a) | set(b)) for m in inner(mode, a.get(group, []), b.get(group, []))]
    return fn


def _prefix(mode, expected, got):
    least = mode.get('min')
    least = max(1, len(expected) - 1) if least is None else min(least, len(expected))
    if got and not expected:
        return [f'unexpected: {dumps(got[0])[:400]}']
    if expected and len(got) < least:
        return [f'expected at least {least} items, got {len(got)}; e.g. {dumps(expected[0])[:300]}']
    n = min(len(expected), len(got))
    return _exact(mode, expected[:n], got[:n])


def _counted(distinct=False, more=False):
    def fn(mode, expected, got):
        a, b = collections.Counter(map(dumps, expected)), collections.Counter(map(dumps, got))
        if distinct:
            a, b = collections.Counter(set(a)), collections.Counter(set(b))
        missing = [f'missing: {k[:500]}' for k in a - b]
        return missing if more else missing + [f'unexpected: {k[:500]}' for k in b - a]
    return fn


def group_of(item):
    """The handler and the object that an item is about."""
    subject = item.get('handler') or item.get('index') or item.get('callback') or item.get('resource')
    return item.get('operator'), subject or str((item.get('body') or {}).get('involvedObject')), item.get('name')


def object_of(item):
    """The object that an item is about."""
    body = item.get('body')
    involved = body.get('involvedObject') if isinstance(body, dict) else None
    return item.get('operator'), item.get('resource'), item.get('name') or (involved or {}).get('name')


def record_of(item):
    """The record of progress that a delay is about."""
    return item['of']


MODES = {
    'ignore': _ignore,
    'exact': _exact,
    'approx': _approx,
    'per-record': _grouped(record_of, _approx),
    'per-object': _grouped(object_of, _exact),
    'per-handler': _grouped(group_of, _exact),
    'prefix': _prefix,
    'per-handler-prefix': _grouped(group_of, _prefix),
    'unordered': _counted(),
    'distinct': _counted(distinct=True),
    'at-least': _counted(more=True),
    'covers': _counted(distinct=True, more=True),
}


def grouped(items, key):
    out = collections.defaultdict(list)
    for item in items:
        out[dumps(key(item))].append(item)
    return out


TOUCHES = ('kopf.zalando.org/touch-dummy', 'dummy')


def untouched(writes):
    """
    The writes without the touches of objects: patches that only make an event when a delay is over.

    If the delays of two handlers of an object differ by the time of some requests, it depends on the speed
    of the machine whether the second one is over when the first one has been handled: then nothing is touched.
    """
    out = []
    for write in writes or []:
        body = _without_touches(write.get('body'))
        if body is not None or write.get('body') is None:
            out.append(write | {'body': body})
    return out


def _without_touches(x):
    """None if nothing is left; what was empty before stays."""
    if not isinstance(x, dict) or not x:
        return x
    left = {}
    for key, value in x.items():
        if key not in TOUCHES or isinstance(value, dict):
            value_left = _without_touches(value)
            if value_left is not None or value is None:
                left[key] = value_left
    return left or None


def blank(x, paths):
    """A copy of a value where the leaves at these paths are equal to any other."""
    x = copy.deepcopy(x)
    for path in paths:
        parent = x
        try:
            for part in path[:-1]:
                parent = parent[part]
            parent[path[-1]] = '<volatile>'
        except (KeyError, IndexError, TypeError):
            pass  # there is no such leaf in this run; the comparison will tell
    return x


def at(items, i):
    return items[i] if i < len(items) else None


def difference(where, expected, got):
    return f'{where}:\n        expected {dumps(expected)[:700]}\n        got      {dumps(got)[:700]}'


def dumps(x):
    return json.dumps(x, sort_keys=True, ensure_ascii=False)
