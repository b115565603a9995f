"""Importing modules that are packed with the script, from the files of the host: see `_files`.

The modules of the author are there as text, those of packages as compiled code. A module is read when it is
imported, so the others take no memory.
"""

import importlib.machinery
import importlib.util
import posixpath
import sys

from kopf import _files


def install():
    """Make the files of the host importable."""
    if not _files.load():
        return
    if _files.is_folder("."):
        sys.path.insert(0, ".")
    if _files.is_folder(_files.ROOT):
        sys.path.append(_files.ROOT)
    sys.path_hooks.insert(0, _Finder)
    sys.path_importer_cache.clear()
    sys.meta_path.append(_Distributions)


class _Finder:
    """Finds modules in a folder: an entry of sys.path, or of the __path__ of a package."""

    def __init__(self, path):
        self.path = path
        if not _files.is_folder(path):
            raise ImportError("not a folder of the host", path=path)

    def find_spec(self, fullname, target=None):
        name = fullname.rpartition(".")[2]
        is_folder = _files.is_folder(self._path(name))
        if is_folder and (found := self._spec(fullname, f"{name}/__init__")):
            return found
        if found := self._spec(fullname, name):
            return found
        if is_folder:  # a namespace package
            spec = importlib.machinery.ModuleSpec(fullname, None, is_package=True)
            spec.submodule_search_locations = [self._path(name)]
            return spec
        return None

    def _spec(self, fullname, stem):
        for ending, loader in ((".pyc", _Compiled), (".py", _Text)):
            path = self._path(stem + ending)
            if not _files.is_file(path):
                continue
            locations = [posixpath.dirname(path)] if stem.endswith("/__init__") else None
            spec = importlib.util.spec_from_file_location(fullname, path, loader=loader(fullname, path), submodule_search_locations=locations)
            spec.origin = path  # as short as the name of the script
            return spec
        return None

    def _path(self, name):
        return name if self.path == "." else f"{self.path}/{name}"

    def iter_modules(self, prefix=""):
        """For pkgutil."""
        for name in _files.names_in(self.path):
            stem, ending = posixpath.splitext(name)
            if ending in (".py", ".pyc") and stem != "__init__":
                yield prefix + stem, False
            elif {"__init__.py", "__init__.pyc"} & set(_files.names_in(self._path(name))):
                yield prefix + name, True

    def invalidate_caches(self):
        """Do nothing: the files do not change."""


class _Loader:
    """What both loaders have."""

    def get_data(self, path):
        data = _files.read(path)
        if data is None:
            raise FileNotFoundError(2, "it is not packed with the script", path)
        return data

    def get_resource_reader(self, name):
        from kopf import _resources  # its imports are large
        return _resources.Resources(posixpath.dirname(self.path))


class _Compiled(_Loader, importlib.machinery.SourcelessFileLoader):
    """Loads compiled code of the same version of Python."""


class _Text(_Loader, importlib.machinery.SourceFileLoader):
    """Loads text."""

    def path_stats(self, path):
        raise OSError("there are no times")


class _Distributions:
    """Finds metadata for importlib.metadata. It finds no modules: path hooks do."""

    @staticmethod
    def find_spec(fullname, path, target=None):
        return None

    @staticmethod
    def find_distributions(context):
        from kopf import _resources  # its imports are large
        wanted = context.name and _resources.normal(context.name)
        for folder in _files.names_in(_files.ROOT):
            if folder.endswith(".dist-info") and wanted in (None, _resources.normal(folder.split("-")[0])):
                yield _resources.Distribution(folder)
