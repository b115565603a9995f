import glob
import os
import unittest

from runner import differences, runs

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(HERE))


class Edits(unittest.TestCase):
    def edited(self, **edit):
        expected = {'calls': [{'n': 1}, {'n': 2}], 'final': {'x': {'a': None}}}
        got = {'calls': [{'n': 2, 'm': 1}, {'n': 3}]}
        differences.apply([edit], expected, got)
        return expected, got

    def test_values_are_changed(self):
        self.assertEqual(self.edited(at=['calls', 0, 'n'], **{'is': 3})[0]['calls'], [{'n': 3}, {'n': 2}])
        self.assertEqual(self.edited(at=['final', 'x', 'a'], **{'is': {}})[0]['final'], {'x': {'a': {}}})
        self.assertEqual(self.edited(at=['calls'], insert=1, items=[{'n': 3}])[0]['calls'], [{'n': 1}, {'n': 3}, {'n': 2}])

    def test_what_may_vary_is_dropped_on_both_sides(self):
        expected, got = self.edited(at=['calls'], without={'n': 2})
        self.assertEqual((expected['calls'], got['calls']), ([{'n': 1}], [{'n': 3}]))

    def test_edits_that_do_not_fit_are_errors(self):
        for edit in ({'at': ['calls', 2], 'is': 1}, {'at': ['final', 'y'], 'is': 1}, {'at': ['final'], 'insert': 0, 'items': [1]},
                     {'at': ['calls', 0, 'n'], 'is': 1}, {'at': ['calls'], 'insert': 0, 'items': []}, {'at': ['calls'], 'without': {'n': 3}}):
            with self.subTest(edit), self.assertRaises(differences.DifferenceError):
                self.edited(**edit)


class Declared(unittest.TestCase):
    """All that is declared in this folder."""

    def test_each_difference_is_documented(self):
        with open(os.path.join(ROOT, 'docs', 'differences.md')) as f:
            page = f.read()
        names = [os.path.basename(p) for p in runs.find(os.path.join(HERE, 'cases'))]
        files = glob.glob(os.path.join(HERE, '**', 'differences.yaml'), recursive=True)
        self.assertTrue(files)
        for name, edits in differences.load(files).items():
            with self.subTest(name):
                self.assertIn(name, names)
                for edit in edits:
                    self.assertIn(edit['row'], page)
