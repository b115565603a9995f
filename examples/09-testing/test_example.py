"""Handlers are functions: `python3 -m unittest` calls them with the arguments that they use, without a cluster.

With Kopf installed, an operator is tested as a whole, too, if KUBECONFIG names a cluster.
"""

import logging
import os
import time
import unittest

import kopf

import example


class Handlers(unittest.TestCase):
    def test_create_fn(self):
        patch = kopf.Patch()
        result = example.create_fn(spec={'field': 'value'}, patch=patch, logger=logging.getLogger())
        self.assertEqual(result, {'field': 'value'})
        self.assertEqual(patch, {'status': {'tested': True}})

    def test_wrong_fields_are_refused(self):
        with self.assertRaisesRegex(kopf.PermanentError, "wrong"):
            example.create_fn(spec={'field': 'wrong'}, patch=kopf.Patch(), logger=logging.getLogger())


@unittest.skipUnless('KUBECONFIG' in os.environ, "there is no cluster")
class Operator(unittest.TestCase):
    def test_it_starts_and_ends(self):
        from kopf.testing import KopfRunner
        with KopfRunner(['run', '--namespace', 'default', '--standalone', '--verbose', example.__file__], timeout=60) as runner:
            time.sleep(2)
        self.assertIsNone(runner.exception)
        self.assertEqual(runner.exit_code, 0)


if __name__ == '__main__':
    unittest.main()
