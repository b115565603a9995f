"""
Declared differences: what is expected of the tested program in place of what was recorded from the reference.

A file maps names of cases to lists of edits of their expected.json. Each edit has a `row`: words of docs/differences.md
that give the reason, and `at`: the path of a value. It changes that value in one way:

- `is: VALUE` replaces it;
- `insert: N` with `items: [VALUE...]` puts items into a list, at a position;
- `without: {KEY: VALUE}` drops the items of a list that have these values: of the observed list, too.

An edit that does not fit the recording is an error, so that none outlives its reason.
"""
import yaml


class DifferenceError(Exception):
    """An edit that does not fit the recording."""


def load(files):
    """The edits by the names of cases."""
    found = {}
    for file in files:
        with open(file) as f:
            for name, edits in (yaml.safe_load(f) or {}).items():
                found.setdefault(name, []).extend(edits)
    return found


def apply(edits, expected, got):
    """Change the expectations of one case, and the observations where they may vary."""
    for edit in edits:
        try:
            changed = _apply(edit, expected)
        except (KeyError, IndexError, TypeError) as e:
            raise DifferenceError(f'{edit["at"]}: there is no such value in the recording ({e!r})') from None
        if not changed:
            raise DifferenceError(f'{edit["at"]}: the recording is so already')
        if 'without' in edit:
            _apply(edit, got)


def _apply(edit, document):
    """Apply one edit; returns whether it has changed the document."""
    *path, last = edit['at']
    for part in path:
        document = document[part]
    before = document[last]
    if 'insert' in edit:
        document[last] = before[:edit['insert']] + edit['items'] + before[edit['insert']:]
    elif 'without' in edit:
        document[last] = [item for item in before if not edit['without'].items() <= item.items()]
    else:
        document[last] = edit['is']
    return document[last] != before
