"""Modules that are packed with the script: importing them, and reading their files.

The host gives files by their paths. `script/` has the modules of the author, which Python finds
next to the script, as text. `packages/` has what `kopf run --packages` has packed, as compiled code.
A module is read when it is imported, so the others take no memory.
"""

import importlib.machinery
import importlib.util
import io
import posixpath
import sys

from kopf import _host

SCRIPT, PACKAGES = "script", "packages"  # folders of the host
ROOT = "/" + PACKAGES  # in sys.path, in place of site-packages

_files = frozenset()
_folders = {}  # the names in each folder


def install():
    """Make the files of the host importable and readable."""
    global _files
    found = _host.file("")
    if not found:
        return
    _files = frozenset(found.decode().splitlines())
    for path in sorted(_files):
        while path:
            folder, _, name = path.rpartition("/")
            names = _folders.setdefault(folder, {})
            if name in names:
                break
            names[name], path = True, folder
    if SCRIPT in _folders:
        sys.path.insert(0, ".")
    if PACKAGES in _folders:
        sys.path.append(ROOT)
    sys.path_hooks.insert(0, _Finder)
    sys.path_importer_cache.clear()
    sys.meta_path.append(_Distributions)


def key(path):
    """Return the path of the host for a path of Python: /packages, or the folder of the script, which is the current one."""
    path = posixpath.normpath("/" + path.lstrip("/"))
    if path == ROOT or path.startswith(ROOT + "/"):
        return path[1:]
    return (SCRIPT + path).rstrip("/")


def read(path):
    """Return the content of a file by its path in Python; None if there is none."""
    name = key(path) if _files else ""
    return _host.file(name) if name in _files else None


def names_in(path):
    """Return the sorted names in a folder; none if there is no such folder."""
    return sorted(_folders.get(key(path), ()))


def is_file(path):
    """Tell whether a file of the host has this path in Python."""
    return key(path) in _files


def is_folder(path):
    """Tell whether a folder of the host has this path in Python."""
    return key(path) in _folders


def is_own(filename):
    """Tell whether code is of a module of the author."""
    return key(filename) in _files and not filename.startswith(ROOT)


class _Finder:
    """Finds modules in a folder: an entry of sys.path, or of the __path__ of a package."""

    def __init__(self, path):
        self.path, self.folder = path, key(path)
        if self.folder not in _folders:
            raise ImportError("not a folder of the host", path=path)

    def find_spec(self, fullname, target=None):
        name = fullname.rpartition(".")[2]
        names = _folders[self.folder]
        if name in names and (found := self._spec(fullname, _folders.get(f"{self.folder}/{name}", ()), f"{name}/__init__")):
            return found
        if found := self._spec(fullname, names, name):
            return found
        if f"{self.folder}/{name}" in _folders:  # a namespace package
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [self._path(name)]
            return spec
        return None

    def _spec(self, fullname, names, stem):
        for ending, loader in ((".pyc", _Compiled), (".py", _Text)):
            if stem.rpartition("/")[2] + ending not in names:
                continue
            path = self._path(stem + ending)
            locations = [posixpath.dirname(path)] if stem.endswith("/__init__") else None
            spec = importlib.util.spec_from_file_location(fullname, path, loader=loader(fullname, path), submodule_search_locations=locations)
            spec.origin = path  # as short as the name of the script
            return spec
        return None

    def _path(self, name):
        return name if self.path == "." else f"{self.path}/{name}"

    def iter_modules(self, prefix=""):
        """For pkgutil."""
        for name in sorted(_folders[self.folder]):
            stem, ending = posixpath.splitext(name)
            if ending in (".py", ".pyc") and stem != "__init__":
                yield prefix + stem, False
            elif {"__init__.py", "__init__.pyc"} & set(_folders.get(f"{self.folder}/{name}", ())):
                yield prefix + name, True

    def invalidate_caches(self):
        """Do nothing: the files do not change."""


class _Files:
    """What both loaders have."""

    def get_data(self, path):
        data = read(path)
        if data is None:
            raise FileNotFoundError(2, "it is not packed with the script", path)
        return data

    def get_resource_reader(self, name):
        from kopf import _resources  # its imports are large
        return _resources.Resources(posixpath.dirname(self.path))


class _Compiled(_Files, importlib.machinery.SourcelessFileLoader):
    """Loads compiled code of the same version of Python."""


class _Text(_Files, importlib.machinery.SourceFileLoader):
    """Loads text."""

    def path_stats(self, path):
        raise OSError("there are no times")


def opened(path, mode="r", buffering=-1, encoding=None, errors=None, newline=None):
    """Return a file for reading, as open() does.

    Errors: FileNotFoundError.
    """
    data = read(path)
    if data is None:
        raise FileNotFoundError(2, "No such file or directory", path)
    if "b" in mode:
        return io.BytesIO(data)
    return io.TextIOWrapper(io.BytesIO(data), encoding or "utf-8", errors, newline)


class _Distributions:
    """Finds metadata for importlib.metadata. It finds no modules: path hooks do."""

    @staticmethod
    def find_spec(fullname, path, target=None):
        return None

    @staticmethod
    def find_distributions(context):
        from kopf import _resources  # its imports are large
        wanted = context.name and _resources.normal(context.name)
        for folder in names_in(ROOT):
            if folder.endswith(".dist-info") and wanted in (None, _resources.normal(folder.split("-")[0])):
                yield _resources.Distribution(folder)
