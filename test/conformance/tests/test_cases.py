import contextlib
import io
import os
import tempfile
import types
import unittest
from unittest import mock

import run
from runner import operators, resources, runs


def make_case(folder, name, area):
    os.makedirs(os.path.join(folder, name))
    with open(os.path.join(folder, name, 'case.yaml'), 'w') as f:
        f.write(f'area: {area}\n')


class Choosing(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        make_case(self.folder.name, '001-one', 'changing')
        make_case(self.folder.name, 'deep/011-two', 'errors')
        make_case(self.folder.name, '021-three', 'errors')
        self.paths = runs.find(self.folder.name)

    def names(self, paths):
        return [os.path.basename(p) for p in paths]

    def finished(self, text):
        listing = os.path.join(self.folder.name, 'finished.txt')
        with open(listing, 'w') as f:
            f.write(text)
        return self.names(runs.finished(self.paths, listing))

    def test_find(self):
        self.assertEqual(self.names(self.paths), ['001-one', '021-three', '011-two'])

    def test_select(self):
        self.assertEqual(self.names(runs.select(self.paths, ['01', '001-o'])), ['001-one', '011-two'])
        self.assertEqual(self.names(runs.select(self.paths, [], ['errors'])), ['021-three', '011-two'])
        self.assertEqual(self.names(runs.select(self.paths, ['02'], ['changing'])), [])

    def test_finished(self):
        self.assertEqual(self.finished('# nothing\n'), [])
        self.assertEqual(self.finished('errors # all\n'), ['021-three', '011-two'])
        self.assertEqual(self.finished('01\nchanging\n'), ['001-one', '011-two'])


class Judging(unittest.TestCase):
    def test_each_case_is_judged_once(self):
        ran = []

        def check_one(lab, job):
            ran.append(job.path)
            return runs.Result(job, ['wrong'] if job.case.endswith('wrong') else [], runs.Run({}, 1.0, True, os.devnull))

        with tempfile.TemporaryDirectory() as folder:
            for name in ('001-right', '002-wrong', '003-wrong'):
                make_case(folder, name, 'errors')
            paths = runs.find(folder)
            jobs = [runs.Job(runs.Subject('', 'kopf', {}), path) for path in paths]
            options = types.SimpleNamespace(jobs=2, verbose=False, dump=None)
            with mock.patch.object(runs, 'check_one', check_one), contextlib.redirect_stdout(io.StringIO()):
                self.assertEqual(runs.check(types.SimpleNamespace(options=options), jobs), (1, 2))
        self.assertEqual(sorted(ran), paths)

    def test_a_busy_machine_gets_fewer_jobs(self):
        for free, cores, wanted, jobs in [(2.0, 2, 24, 24), (1.0, 2, 24, 12), (0.1, 2, 24, 1), (2.0, 2, 4, 4), (15.5, 16, 24, 24)]:
            options = types.SimpleNamespace(jobs=wanted)
            with mock.patch.object(run, 'free_cores', lambda free=free, cores=cores: (free, cores)), contextlib.redirect_stdout(io.StringIO()):
                run.limit_jobs(options)
            self.assertEqual(options.jobs, jobs)


class Resources(unittest.TestCase):
    TABLE = [
        ('kex/obj', ('/apis/kopf.dev/v1/namespaces/ns/kopfexamples', 'obj', 'kopf.dev/v1', 'KopfExample')),
        ('kex/obj@other', ('/apis/kopf.dev/v1/namespaces/other/kopfexamples', 'obj', 'kopf.dev/v1', 'KopfExample')),
        ('kcl/obj', ('/apis/kopf.dev/v1/kopfclusters', 'obj', 'kopf.dev/v1', 'KopfCluster')),
        ('cm/obj', ('/api/v1/namespaces/ns/configmaps', 'obj', 'v1', 'ConfigMap')),
        ('a.com/v2/things/obj', ('/apis/a.com/v2/namespaces/ns/things', 'obj', 'a.com/v2', None)),
        ('cluster:a.com/v2/things/obj', ('/apis/a.com/v2/things', 'obj', 'a.com/v2', None)),
    ]

    def test_locate(self):
        for ref, expected in self.TABLE:
            with self.subTest(ref):
                self.assertEqual(tuple(resources.locate(ref, 'ns')), expected)

    def test_crd(self):
        crd = resources.describe_crd({'plural': 'things', 'versions': ['v1', {'name': 'v2', 'served': False}], 'subresources': ['status']}, 'x.com')
        self.assertEqual(crd['metadata']['name'], 'things.x.com')
        self.assertEqual(crd['spec']['names']['kind'], 'Thing')
        self.assertEqual([(v['name'], v['served'], v['storage']) for v in crd['spec']['versions']], [('v1', True, True), ('v2', False, False)])
        self.assertEqual(crd['spec']['versions'][0]['subresources'], {'status': {}})


class Commands(unittest.TestCase):
    def test_placeholders(self):
        got = operators.command_line("'a b' run {args} -x={case_json}", {'case_json': '/c d.json'}, ['-n', 'x y', 1])
        self.assertEqual(got, ['a b', 'run', '-n', 'x y', '1', '-x=/c d.json'])

    def test_own_settings_of_the_runner_are_hidden(self):
        os.environ['KOPF_RUN_NAMESPACE'] = 'x'
        self.addCleanup(os.environ.pop, 'KOPF_RUN_NAMESPACE')
        env = operators.environment('/k', '/h', KOPF_CASE_JSON='/j')
        self.assertNotIn('KOPF_RUN_NAMESPACE', env)
        self.assertEqual((env['KUBECONFIG'], env['HOME'], env['KOPF_CASE_JSON']), ('/k', '/h', '/j'))
