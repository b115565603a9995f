"""Prints the guest of the conformance cases: the recorder's interpreter as it is, for the sandbox.

    loader.py ../../recorder/interp.py > conformance-python.py

The interpreter is written for the reference, and reads its case from a file that an environment
variable names. The sandbox has no files, so the text of the case comes from the configuration.
"""

import sys

LOADER = '''\
"""Made by loader.py of the conformance cases. Do not edit."""
import builtins, io, json, linecache, os

_open = builtins.open
_case = os.environ.get("KOPF_CASE_JSON_TEXT", '{{"operator": {{}}}}')

# The host chooses the webhook server, by its flags: no guest may name files.
_case = json.loads(_case)
for _operator in [_case["operator"], *(_case.get("operators") or {{}}).values()]:
    for _name in ("admission.server", "admission.managed"):
        (_operator.get("settings") or {{}}).pop(_name, None)

os.environ["KOPF_CASE_JSON"] = "case.json"
builtins.open = lambda file, *args: io.StringIO(json.dumps(_case)) if file == "case.json" else _open(file, *args)
_text = {text!r}
linecache.cache["interp.py"] = (len(_text), None, _text.splitlines(True), "interp.py")
exec(compile(_text, "interp.py", "exec"), globals())
'''


def main(path):
    with open(path, encoding="utf-8") as f:
        sys.stdout.write(LOADER.format(text=f.read()))


main(*sys.argv[1:])
