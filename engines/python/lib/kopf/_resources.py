"""Data files and metadata of packages, for importlib.resources and importlib.metadata."""

import importlib.metadata
import importlib.resources.abc
import posixpath
import re

from kopf import _files


class Resources(importlib.resources.abc.TraversableResources):
    """The data files of a package."""

    def __init__(self, path):
        self.path = path

    def files(self):
        return Resource(self.path)


class Resource(importlib.resources.abc.Traversable):
    """A file or a folder of a package."""

    def __init__(self, path):
        self.path = path

    @property
    def name(self):
        return posixpath.basename(self.path)

    def iterdir(self):
        return (self.joinpath(name) for name in _files.names_in(self.path))

    def is_dir(self):
        return _files.is_folder(self.path)

    def is_file(self):
        return _files.is_file(self.path)

    def joinpath(self, *parts):
        return Resource(posixpath.join(self.path, *map(str, parts)))

    __truediv__ = joinpath

    def open(self, mode="r", *args, **kwargs):
        found = _files.opened(self.path, mode, *args, **kwargs)
        if found is None:
            raise FileNotFoundError(2, "No such file or directory", self.path)
        return found

    def __str__(self):
        return self.path


class Distribution(importlib.metadata.Distribution):
    """The metadata of a package: a folder NAME-VERSION.dist-info."""

    def __init__(self, folder):
        self.folder = folder

    def read_text(self, filename):
        data = _files.read(f"{_files.ROOT}/{self.folder}/{filename}")
        return None if data is None else data.decode()

    def locate_file(self, path):
        return Resource(f"{_files.ROOT}/{path}")


def normal(name):
    """Return the form in which names of packages are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()
