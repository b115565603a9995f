"""Makes one script of packages and an operator: packed.py FOLDER OPERATOR OUT

The packages are those of FOLDER, in plain Python. The script begins with their code, compiled,
and with an importer. It needs the minor version of Python that the engine has.
"""

import base64
import marshal
import pathlib
import sys
import zlib

IMPORTER = '''
def _packed(rows):
    import base64, importlib.util, marshal, sys, zlib
    class Loader:
        create_module = staticmethod(lambda spec: None)
        @staticmethod
        def exec_module(module):
            exec(marshal.loads(zlib.decompress(base64.b85decode(rows[module.__name__][1]))), module.__dict__)
    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name in rows:
                return importlib.util.spec_from_loader(name, Loader, origin="packed", is_package=rows[name][0])
    sys.meta_path.append(Finder)
'''


def rows(folder):
    """Return whether they are packages, and the code, by the names of modules."""
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        package = parts[-1] == "__init__"
        names = parts[:-1] if package else parts
        if not all(name.isidentifier() for name in names):
            continue
        for n in range(1, len(names)):  # namespaces have no file
            found.setdefault(".".join(names[:n]), (True, packed(compile("", "", "exec"))))
        code = compile(path.read_bytes(), path.relative_to(folder).as_posix(), "exec", dont_inherit=True, optimize=2)
        found[".".join(names)] = (package, packed(code))
    return found


def packed(code):
    return base64.b85encode(zlib.compress(marshal.dumps(code), 9)).decode()


folder, operator, out = map(pathlib.Path, sys.argv[1:])
out.write_text(f"{IMPORTER}\n_packed({rows(folder)!r})\n{operator.read_text()}")
