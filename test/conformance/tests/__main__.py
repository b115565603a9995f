"""Runs all tests of the runner; the totals come last."""
import sys
import unittest

suite = unittest.defaultTestLoader.discover('tests', top_level_dir='.')
result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(suite)
failed = len(result.failures) + len(result.errors)
print(f'{result.testsRun - failed} passed, {failed} failed')
sys.exit(1 if failed or not result.testsRun else 0)
