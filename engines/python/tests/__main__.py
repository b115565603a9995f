"""Runs all tests, and prints their totals in the last line, as scripts/test.sh reads them."""

import contextlib
import io
import sys
import unittest
from pathlib import Path

if sys.version_info < (3, 11):
    print("the tests of engines/python need Python 3.11", file=sys.stderr)
    sys.exit(1)

folder = Path(__file__).parent
sys.path.insert(0, str(folder))
with contextlib.redirect_stderr(io.StringIO()) as output:  # scripts that fail on purpose print tracebacks
    result = unittest.TextTestRunner(output).run(unittest.defaultTestLoader.discover(str(folder)))
if not result.wasSuccessful():
    print(output.getvalue())
failed = len(result.failures) + len(result.errors)
print(f"{result.testsRun - failed} passed, {failed} failed")
sys.exit(bool(failed))
