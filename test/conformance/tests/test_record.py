import unittest

from runner.record import derive, leaves, merge


class Deriving(unittest.TestCase):
    TABLE = [
        ('equal', 'calls', [1], [1], None),
        ('the order of objects', 'writes', [{'name': 'x'}, {'name': 'y'}], [{'name': 'y'}, {'name': 'x'}], 'per-object'),
        ('the order of all', 'results', [1, 2], [2, 1], 'unordered'),
        ('repetitions', 'results', [1, 1, 2], [1, 2], 'distinct'),
        ('one leaf', 'results', {'a': 1}, {'a': 2}, 'exact'),
        ('nothing in common', 'results', {'a': 1}, {'b': 2}, 'ignore'),
        ('delays', 'delays', [{'of': 'x', 'seconds': 1.0}], [{'of': 'x', 'seconds': 1.1}], 'approx'),
    ]

    def test_derive(self):
        for name, section, a, b, expected in self.TABLE:
            with self.subTest(name):
                mode, _ = derive(section, None, a, b)
                self.assertEqual(mode and mode['mode'], expected)

    def test_declared_mode_that_fails(self):
        mode, note = derive('calls', {'mode': 'unordered'}, [1], [2])
        self.assertEqual((mode['mode'], mode['flaky']), ('ignore', True))
        self.assertIn('declared', note)

    def test_leaves(self):
        self.assertEqual(leaves({'a': [1, {'b': 2}]}, {'a': [1, {'b': 3}]}), [['a', 1, 'b']])
        self.assertIsNone(leaves({'a': 1}, {'b': 1}))

    def test_merge_keeps_the_common_part(self):
        spec = {'compare': {'calls': {'mode': 'covers'}}}
        expected, notes = merge(spec, {'calls': [1, 2, 1]}, {'calls': [1, 3]}, '1.0')
        self.assertEqual(expected, {'kopf': '1.0', 'compare': {'calls': {'mode': 'covers'}}, 'calls': [1]})
        self.assertEqual(notes, [])
