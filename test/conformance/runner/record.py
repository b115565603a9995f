"""Making expected.json: a case runs twice with the reference, and the two runs tell how exactly it can be compared."""
import json
import os

from .compare import blank, compare, dumps
from .observations import SECTIONS

MOST_VOLATILE = 8  # leaves; with more of them, the section is compared by another mode


def merge(spec, a, b, version):
    """The expectations of a case from two runs of it; returns them and the notes about differences."""
    notes, modes = [], {}
    for section in SECTIONS:
        if section in a:
            modes[section], note = derive(section, (spec.get('compare') or {}).get(section), a[section], b[section])
            notes += [note] if note else []
    modes = {k: v for k, v in modes.items() if v}
    expected = {'kopf': version, 'compare': modes} | ({'notes': notes} if notes else {})
    for section in SECTIONS:
        if section in a:
            expected[section] = reduce_section(modes.get(section, {}), a[section], b[section])
    return expected, notes


def reduce_section(mode, a, b):
    """What of the first run is kept: what is compared."""
    if mode.get('mode') == 'covers':  # only the common part
        common, kept = set(map(dumps, b)), {}
        for item in a:
            if dumps(item) in common:
                kept.setdefault(dumps(item), item)
        a = list(kept.values())
    return blank(a, mode['volatile']) if mode.get('volatile') else a


def derive(section, declared, a, b):
    """The strictest mode in which both runs are equal, and a note if it is not the wanted one."""
    if section == 'delays' and not declared:
        declared = {'mode': 'approx'}
    if declared:
        bad = [] if declared['mode'] == 'covers' else compare(declared, a, b) or compare(declared, b, a)
        if not bad:
            return dict(declared), None
        return {'mode': 'ignore', 'flaky': True}, f'{section}: declared mode {declared["mode"]} fails between recordings: {bad[0][:300]}'
    if a == b:
        return None, None
    if isinstance(a, list):
        for how in ('per-object', 'per-handler', 'unordered'):
            if (how == 'unordered' or section in ('calls', 'writes', 'events')) and not compare({'mode': how}, a, b):
                return {'mode': how}, f'{section}: order differs between recordings'
    paths = leaves(a, b)
    if paths and len(paths) <= MOST_VOLATILE:
        return {'mode': 'exact', 'volatile': paths}, f'{section}: volatile {paths}'
    if isinstance(a, list):
        for how in ('distinct', 'per-handler-prefix'):
            if not compare({'mode': how}, a, b) and not compare({'mode': how}, b, a):
                return {'mode': how}, f'{section}: only {how} is stable'
    return {'mode': 'ignore', 'flaky': True}, f'{section}: not reproducible: {compare({}, a, b)[0][:400]}'


def leaves(a, b, path=()):
    """The paths of the leaves that differ, if the structure is the same; otherwise None."""
    if type(a) is not type(b):
        return [list(path)] if path else None
    if isinstance(a, dict):
        pairs = [(k, a[k], b[k]) for k in a] if set(a) == set(b) else None
    elif isinstance(a, list):
        pairs = [(i, x, y) for i, (x, y) in enumerate(zip(a, b))] if len(a) == len(b) else None
    else:
        return [] if a == b else [list(path)]
    if pairs is None:
        return None
    found = [leaves(x, y, path + (k,)) for k, x, y in pairs]
    return None if None in found else sum(found, [])


def save(path, expected):
    with open(os.path.join(path, 'expected.json'), 'w') as f:
        json.dump(expected, f, indent=1, sort_keys=True, ensure_ascii=False)
        f.write('\n')
