"""A stand-in for mmap: packages import it, but there are no files to map."""

ACCESS_DEFAULT, ACCESS_READ, ACCESS_WRITE, ACCESS_COPY = range(4)
PAGESIZE = ALLOCATIONGRANULARITY = 65536


class mmap:
    """A file in memory: there are none."""

    def __init__(self, *args, **kwargs):
        raise OSError("the sandbox has no files to map into the memory")
