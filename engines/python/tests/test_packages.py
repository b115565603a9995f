"""Modules that are packed with the script."""

import importlib.util
import marshal
import sys
import unittest

from host import Operator
from kopf import _scripts

HANDLER = "\nimport kopf\n@kopf.on.startup()\ndef begin(**_): pass\n"


def compiled(text, path):
    """Return what `kopf` packs for a file."""
    return importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(compile(text, path, "exec"))


FILES = {
    "script/helpers.py": b"from lib.deep import NAME\n",
    "script/lib/__init__.py": b"",
    "script/lib/deep.py": b"from . import other\nNAME = other.__name__\ndef fail():\n    raise ValueError(NAME)\n",
    "script/lib/other.py": b"",
    "script/lib/template.yaml": "größe: 1\r\n".encode(),
    "script/broken.py": b"x = 1\ndef f(:\n",
    "packages/dist_one/__init__.pyc": compiled("from dist_one import sub", "/packages/dist_one/__init__.py"),
    "packages/dist_one/sub.pyc": compiled("A = 1", "/packages/dist_one/sub.py"),
    "packages/dist_one/data/x.bin": b"\x00\x01",
    "packages/space/part.pyc": compiled("B = 2", "/packages/space/part.py"),
    "packages/dist_one-1.2.dist-info/METADATA": b"Metadata-Version: 2.1\nName: Dist.One\nVersion: 1.2\n",
    "packages/dist_one-1.2.dist-info/entry_points.txt": b"[group]\nname = dist_one:sub\n",
}


class PackedModules(unittest.TestCase):
    def setUp(self):
        self.before = list(sys.path), list(sys.path_hooks), list(sys.meta_path), set(sys.modules)

    def tearDown(self):
        from kopf import _files
        sys.path[:], sys.path_hooks[:], sys.meta_path[:] = self.before[:3]
        for name in set(sys.modules) - self.before[3]:
            if name.split(".")[0] in ("helpers", "lib", "broken", "dist_one", "space"):
                del sys.modules[name]
        sys.path_importer_cache.clear()
        _files.unload()

    def run_script(self, script):
        """Register a script, and return its globals."""
        operator = Operator(script + HANDLER, files=FILES)
        self.assertNotIn("error", operator.registration)
        return vars(sys.modules["__kopf_script_0__operator.py"])

    def test_modules_next_to_the_script_are_imported(self):
        found = self.run_script("import helpers, lib.deep\nfrom lib import other\nname, file, path = helpers.NAME, lib.deep.__file__, lib.__path__")
        self.assertEqual(found["name"], "lib.other")
        self.assertEqual((found["file"], found["path"]), ("lib/deep.py", ["lib"]))

    def test_packages_are_imported_as_compiled_code(self):
        found = self.run_script("import dist_one, space.part\na, b, cached = dist_one.sub.A, space.part.B, dist_one.sub.__file__")
        self.assertEqual((found["a"], found["b"], found["cached"]), (1, 2, "/packages/dist_one/sub.pyc"))

    def test_code_of_another_version_is_refused(self):
        FILES["packages/dist_old.pyc"] = b"\x01\x02\r\n" + bytes(12)
        try:
            operator = Operator("import dist_old" + HANDLER, files=FILES)
        finally:
            del FILES["packages/dist_old.pyc"]
        self.assertIn("operator.py:1: ImportError: bad magic number in 'dist_old'", operator.registration["error"])

    def test_data_files_are_read(self):
        found = self.run_script(
            "import importlib.resources as r, pkgutil, lib, dist_one\n"
            "text = (r.files('lib') / 'template.yaml').read_text()\n"
            "names = sorted(entry.name for entry in r.files('lib').iterdir())\n"
            "data = pkgutil.get_data('dist_one', 'data/x.bin')\n"
            "modules = [m.name for m in pkgutil.iter_modules(dist_one.__path__)]\n"
            "absent = r.files('lib').joinpath('none').is_file()\n"
            "try: r.files('lib').joinpath('none').open()\n"
            "except FileNotFoundError as error: refused = error.filename\n")
        self.assertEqual(found["text"], "größe: 1\n")
        self.assertEqual(found["names"], ["__init__.py", "deep.py", "other.py", "template.yaml"])
        self.assertEqual((found["data"], found["modules"], found["absent"]), (b"\x00\x01", ["sub"], False))
        self.assertEqual(found["refused"], "lib/none")

    def test_versions_and_entry_points_are_known(self):
        found = self.run_script(
            "import importlib.metadata as m\nversion = m.version('dist-one')\n"
            "names = [point.load().A for point in m.entry_points(group='group')]\n"
            "try: m.version('dist')\n"
            "except m.PackageNotFoundError: absent = True\n")
        self.assertEqual((found["version"], found["names"], found["absent"]), ("1.2", [1], True))

    def test_tracebacks_have_lines_of_the_authors_modules(self):
        operator = Operator("import lib.deep\nlib.deep.fail()", files=FILES)
        self.assertEqual(operator.registration["error"], "lib/deep.py:4: ValueError: lib.other")
        found = self.run_script("import lib.deep, traceback\ntry: lib.deep.fail()\nexcept ValueError: text = traceback.format_exc()")
        self.assertIn('File "lib/deep.py", line 4, in fail\n    raise ValueError(NAME)\n', found["text"])

    def test_a_syntax_error_names_the_module(self):
        operator = Operator("import broken", files=FILES)
        self.assertEqual(operator.registration["error"], f"broken.py:2: SyntaxError: invalid syntax ({_scripts._VERSION})")

    def test_files_are_opened_by_their_paths(self):
        from kopf import _files
        self.run_script("")
        for path in ("lib/template.yaml", "/lib/template.yaml", "./lib/../lib/template.yaml", b"lib/template.yaml"):
            self.assertEqual(_files.opened(path).read(), "größe: 1\n")
        self.assertEqual(_files.opened("/packages/dist_one/data/x.bin", "rb").read(), b"\x00\x01")
        for path in ("../etc/passwd", "/packages", "lib", 3):
            self.assertIsNone(_files.opened(path))
        for mode in ("w", "a", "x", "r+"):
            self.assertIsNone(_files.opened("lib/template.yaml", mode))


if __name__ == "__main__":
    unittest.main()
