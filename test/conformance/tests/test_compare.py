import unittest

from runner.compare import compare, compare_all


def call(handler, **extra):
    return {'handler': handler, 'name': 'obj', **extra}


class Modes(unittest.TestCase):
    """For each mode, what is equal and what is not."""

    TABLE = [
        ('exact', [1, 2], [1, 2], True),
        ('exact', [1, 2], [2, 1], False),
        ('exact', [1], [1, None], False),
        ('exact', {'a': 1}, {'a': 2}, False),
        ('exact', {'a': None}, {}, False),
        ('exact', [], None, False),
        ('exact', [{'a': True}], [{'a': 1}], False),
        ('exact', {'a': [0]}, {'a': [False]}, False),
        ('exact', [1], [1.0], True),
        ('ignore', [1], [], True),
        ('unordered', [1, 2], [2, 1], True),
        ('unordered', [1, 1], [1], False),
        ('distinct', [1, 1], [1], True),
        ('distinct', [1], [1, 2], False),
        ('at-least', [1], [1, 2], True),
        ('at-least', [1, 1], [1], False),
        ('covers', [1, 1], [1, 2], True),
        ('covers', [1, 3], [1, 2], False),
        ('prefix', [1, 2, 3], [1, 2], True),
        ('prefix', [1, 2, 3], [1], False),
        ('prefix', [1, 2, 3], [1, 3], False),
        ('prefix', [], [1], False),
        ('prefix', [], [], True),
        ('per-handler', [call('a'), call('b')], [call('b'), call('a')], True),
        ('per-handler', [call('a', n=1), call('a', n=2)], [call('a', n=2), call('a', n=1)], False),
        ('per-handler', [call('a')], [call('a'), call('c')], False),
        ('per-object', [{'name': 'x'}, {'name': 'y'}], [{'name': 'y'}, {'name': 'x'}], True),
        ('per-object', [{'name': 'x', 'n': 1}, {'name': 'x', 'n': 2}], [{'name': 'x', 'n': 2}, {'name': 'x', 'n': 1}], False),
        ('approx', [{'of': 'a', 'seconds': 1.0}], [{'of': 'a', 'seconds': 1.7}], True),
        ('approx', [{'of': 'a', 'seconds': 1.0}], [{'of': 'a', 'seconds': 1.8}], False),
        ('approx', [{'of': 'a', 'seconds': 1.0}], [], False),
        ('per-record', [{'of': 'a', 'seconds': 1.0}, {'of': 'b', 'seconds': 3.0}], [{'of': 'b', 'seconds': 3.1}, {'of': 'a', 'seconds': 1.0}], True),
        ('per-record', [{'of': 'a', 'seconds': 1.0}, {'of': 'b', 'seconds': 3.0}], [{'of': 'b', 'seconds': 1.0}, {'of': 'a', 'seconds': 1.0}], False),
        ('per-record', [{'of': 'a', 'seconds': 1.0}], [{'of': 'a', 'seconds': 1.0}, {'of': 'b', 'seconds': 1.0}], False),
    ]

    def test_modes(self):
        for mode, expected, got, equal in self.TABLE:
            with self.subTest(mode=mode, expected=expected, got=got):
                self.assertEqual(not compare({'mode': mode}, expected, got), equal)

    def test_minimum_of_prefixes(self):
        mode = {'mode': 'per-handler-prefix', 'min': 1}
        self.assertEqual(compare(mode, [call('a')] * 3, [call('a')]), [])
        self.assertNotEqual(compare(mode, [call('a')] * 3, []), [])

    def test_volatile_leaves(self):
        mode = {'mode': 'exact', 'volatile': [[0, 'n']]}
        self.assertEqual(compare(mode, [call('a', n=1)], [call('a', n=2)]), [])
        self.assertNotEqual(compare(mode, [call('a', n=1)], [call('b', n=1)]), [])

    def test_touches(self):
        def write(body, **rest):
            return {'verb': 'patch', 'body': body} | rest

        def annotations(**values):
            return {'metadata': {'annotations': {f'kopf.zalando.org/{k.replace("_", "-")}': v for k, v in values.items()}}}

        mode = {'mode': 'exact', 'touches': 'ignore'}
        expected = [write(annotations(fn='x')), write([{'op': 'test'}]), write(annotations(fn=None)), write(None)]
        touched = [write(annotations(fn='x')), write([{'op': 'test'}]), write(annotations(touch_dummy='<ts.6f+00:00>')),
                   write({'status': {'kopf': {'dummy': '<ts.6f+00:00>'}}}), write(annotations(fn=None, touch_dummy=None)), write(None)]
        self.assertEqual(compare(mode, expected, touched), [])
        self.assertEqual(compare(mode, touched, expected), [])
        self.assertNotEqual(compare({'mode': 'exact'}, expected, touched), [])
        for other in (touched[1:], touched[:-1], touched + [write({})], touched + [write(annotations(fn=None))],
                      [write(annotations(fn='y'))] + touched[1:], [write(annotations(fn='x'), code=422)] + touched[1:]):
            with self.subTest(other=other):
                self.assertNotEqual(compare(mode, expected, other), [])

    def test_unrecorded_sections_are_not_compared(self):
        expected = {'compare': {}, 'calls': [1]}
        self.assertEqual(compare_all(expected, {'calls': [1], 'reads': ['x']}), [])
        self.assertEqual(len(compare_all(expected, {'calls': [2]})), 1)
        self.assertEqual(len(compare_all(expected, {})), 1)
