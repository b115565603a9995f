import base64
import importlib.util
import marshal
import tomllib
import warnings

import _kopf
import kopf

warnings.simplefilter("ignore")  # about the code of others
HEADER = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)  # a .pyc that is never compared with its text


@kopf.on.event("packages.kopf.dev", "v1", "packages")
def work(spec, **_):
    if "project" in spec:
        return project(_kopf.file(spec["project"]).decode())
    path = spec["path"]
    try:
        code = compile(_kopf.file(path), "/" + path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"code": base64.b64encode(HEADER + marshal.dumps(code)).decode()}


def project(text):
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return {"error": str(error)}
    table = found.get("project")
    if not isinstance(table, dict):
        return {"error": "it has no table [project]: write the packages into requirements.txt, and name that"}
    if "dependencies" in (table.get("dynamic") or ()):
        return {"error": "its dependencies are dynamic: write them into requirements.txt, and name that"}
    return {"requirements": table.get("dependencies") or []}
