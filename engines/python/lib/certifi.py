"""A stand-in for certifi: the host verifies certificates, so no authorities are in the sandbox."""

from kopf._files import AUTHORITIES


def where():
    """Return the name of a file that exists, and has no certificates."""
    return AUTHORITIES


def contents():
    """Return the text of that file."""
    with open(AUTHORITIES) as file:
        return file.read()
