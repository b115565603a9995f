"""Compiles modules of Python into the table that CPython imports frozen modules from.

    freeze.py NAME OUT FOLDER [--stdlib]

writes OUT/NAME.bin, the marshalled code of all modules of FOLDER, and OUT/NAME.c, which has the table
NAME_table, of NAME_count modules. It runs with the minor version of the engine, whose format of code it writes.
With --stdlib, documentation and assertions are left out, and modules that a sandbox has no use for.
"""

import marshal
import pathlib
import sys

# Modules that need files, processes, sockets, terminals or a display; tests; and tools of developers.
UNUSED = frozenset("""
    test tests idlelib idle_test lib2to3 ensurepip distutils turtledemo turtle tkinter venv pydoc_data curses dbm sqlite3 xmlrpc
    msilib ctypes __phello__ __hello__ pdb doctest cgi cgitb nntplib smtpd smtplib poplib imaplib telnetlib ftplib mailbox mailcap
    tarfile zipapp zipimport webbrowser trace profile cProfile pstats antigravity this pty tty sndhdr sunau wave aifc chunk imghdr xdrlib uu
    nturl2path pipes crypt rlcompleter tabnanny pyclbr modulefinder pickletools lzma bz2 unittest ssl imp asyncore asynchat symtable
    _aix_support _osx_support _bootsubprocess compileall py_compile cmd code fileinput
""".split())

# What operators use of distutils, such as strtobool, and what that imports.
USED = frozenset("distutils distutils.debug distutils.dep_util distutils.errors distutils.log distutils.spawn distutils.util distutils.version".split())


def modules(folder):
    """Yields (name, path, whether it is a package) in the order of the paths."""
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if not all(part.replace("-", "_").isidentifier() for part in parts):
            continue
        package = parts[-1] == "__init__"
        yield ".".join(parts[:-1] if package else parts), path, package


def main(name, out, folder, *flags):
    out, folder = pathlib.Path(out), pathlib.Path(folder)
    stdlib = "--stdlib" in flags
    blob, rows = bytearray(), []
    for module, path, package in modules(folder):
        if stdlib and module not in USED and UNUSED & set(module.split(".")):
            continue
        code = compile(path.read_bytes(), f"{name}/{path.relative_to(folder).as_posix()}", "exec", dont_inherit=True, optimize=2 if stdlib else 0)
        data = marshal.dumps(code)
        rows.append(f'  {{"{module}", {name}_code + {len(blob)}, {len(data)}, {int(package)}}},\n')
        blob += data
    (out / f"{name}.bin").write_bytes(blob)
    (out / f"{name}.c").write_text(
        f'#include <Python.h>\nstatic const unsigned char {name}_code[] = {{\n#embed "{name}.bin"\n}};\n'
        f"const struct _frozen {name}_table[] = {{\n{''.join(rows)}}};\nconst size_t {name}_count = {len(rows)};\n")
    print(f"{name}: {len(rows)} modules, {len(blob)} bytes")


main(*sys.argv[1:])
