"""Memos: what the host keeps for handlers between calls, by keys."""

import math

from kopf import _codec, _host, _pickles

_NAMES = "kopf.keys"  # the key under which the list of the other keys is kept
_NO_TEXT = "kopf.key:"  # how the name of a key begins that is no text; its JSON follows
_MISSING = object()
_kept = {}  # what startup handlers have put into the operator's memo, and cannot be stored: copies of their instance have it


def _name(key):
    """Return what the host knows a key by. TypeError: JSON cannot hold the key exactly."""
    return key if isinstance(key, str) else _NO_TEXT + _codec.dumps(_exact(key)).decode()


def _exact(key):
    """Return a key that is no text as JSON has it: keys that are equal in Python have one form."""
    if isinstance(key, tuple):
        return [_exact(item) for item in key]
    if isinstance(key, bool) or isinstance(key, float) and key.is_integer():
        return int(key)
    if key is None or isinstance(key, (str, int)) or isinstance(key, float) and math.isfinite(key):
        return key
    raise TypeError(f"keys of memos are texts, numbers, None, and tuples of these, not {key!r}")


def _key(name):
    return _codec.hashable(_codec.loads(name[len(_NO_TEXT):].encode())) if name.startswith(_NO_TEXT) else name


class Memo(dict):
    """A container of values by keys or attributes. See `StoredMemo` for the argument of handlers."""

    def __setattr__(self, key, value):
        self[key] = value

    def __delattr__(self, key):
        try:
            del self[key]
        except KeyError as error:
            raise AttributeError(str(error)) from None

    def __getattr__(self, key):
        try:
            return self[key]
        except KeyError as error:
            raise AttributeError(str(error)) from None


class StoredMemo(Memo):
    """The memo of the handled object or of the operator.

    Values are read when they are looked at. Values that handlers have changed, also inside, are
    written before the host continues: at each wait and at the end of the handler. The memo of a
    startup handler `keeps` values that cannot be written, such as clients, in the instance.
    """

    def __init__(self, task, scope, keeps=False):
        super().__init__({"": None})  # json.dumps() asks for the items unless it finds the dict itself to be empty
        state = {}  # by keys: the value that the handler has, and its text at the host
        object.__setattr__(self, "_task", task)
        object.__setattr__(self, "_scope", scope)
        object.__setattr__(self, "_keeps", keeps)
        object.__setattr__(self, "_state", state)

    def _names(self):
        found = _host.memo_get(self._task, self._scope, _NAMES)
        return (found[0], _codec.loads(found[1])) if found else (_host.NO_VERSION, [])

    def _list(self, change):
        """Change the list of keys. It is tried again if another handler is faster."""
        while True:
            version, names = self._names()
            changed = change(names)
            if changed == names or _host.memo_set(self._task, self._scope, _NAMES, _codec.dumps(changed), version):
                return

    def _read(self, key):
        found = _host.memo_get(self._task, self._scope, _name(key))
        known = self._state.get(key)
        if found is None:
            if known is not None and known[1] is None:
                return known[0]  # not written yet
            self._state.pop(key, None)
            return _kept.get(key, _MISSING)
        if known is None or known[1] != found[1] and not self._changed(key, *known):
            known = self._state[key] = (_pickles.unpack(self._task, _codec.loads(found[1])), found[1])
        return known[0]

    def _text(self, key, value):
        return _codec.dumps(_pickles.pack(self._task, value, f"memo.{key}"))

    def _changed(self, key, value, text):
        return self._text(key, value) != text

    def flush(self):
        """Write what has changed. TypeError: a value cannot leave this instance."""
        for key, (value, text) in list(self._state.items()):
            self._put(key, value, text)

    def _put(self, key, value, text=None):
        """Write a value unless it has the text, or keep it."""
        try:
            packed = self._text(key, value)
        except TypeError:
            if not self._keeps:
                raise
            self._erase(key)
            _kept[key] = value
            return
        if packed != text:
            self._write(key, value, packed)

    def _write(self, key, value, packed):
        name = _name(key)
        new = _host.memo_get(self._task, self._scope, name) is None
        _host.memo_set(self._task, self._scope, name, packed)
        self._state[key] = (value, packed)
        if new:
            self._list(lambda names: names if name in names else [*names, name])

    def __getitem__(self, key):
        value = self._read(key)
        if value is _MISSING:
            raise KeyError(key)
        return value

    def __setitem__(self, key, value):
        self._put(key, value)

    def __delitem__(self, key):
        if key not in self:
            raise KeyError(key)
        if self._scope == _host.OPERATOR:
            _kept.pop(key, None)
        elif key in _kept:
            raise TypeError(f"memo.{key} is what a startup handler has made: it cannot be removed from the memo of one object")
        self._erase(key)

    def _erase(self, key):
        self._state.pop(key, None)
        name = _name(key)
        _host.memo_set(self._task, self._scope, name, b"")
        self._list(lambda names: [other for other in names if other != name])

    def __contains__(self, key):
        return self._read(key) is not _MISSING

    def __iter__(self):
        keys = [_key(name) for name in self._names()[1]]
        return iter([*keys, *(key for key in _kept if key not in keys)])

    def __len__(self):
        return sum(1 for _ in self)

    def __bool__(self):
        return len(self) > 0

    def __eq__(self, other):
        return dict(self.items()) == other

    __hash__ = None

    def __repr__(self):
        return repr(dict(self.items()))

    def get(self, key, default=None):
        value = self._read(key)
        return default if value is _MISSING else value

    def keys(self):
        return list(self)

    def values(self):
        return [self[key] for key in self]

    def items(self):
        return [(key, self[key]) for key in self]

    def update(self, *args, **kwargs):
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key, *default):
        if key not in self and default:
            return default[0]
        value = self[key]
        del self[key]
        return value

    def clear(self):
        for key in list(self):
            del self[key]

    def popitem(self):
        key = next(reversed(self), _MISSING)
        if key is _MISSING:
            raise KeyError("popitem(): the memo is empty")
        return key, self.pop(key)

    def copy(self):
        return Memo(self.items())

    def __reduce_ex__(self, protocol):  # for copy, deepcopy, pickle
        return Memo, (self.items(),)

    def __reversed__(self):
        return reversed(self.keys())

    def __or__(self, other):
        return self.copy() | other

    def __ior__(self, other):
        self.update(other)
        return self
