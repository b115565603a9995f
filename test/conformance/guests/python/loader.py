"""What loads the interpreter of the recorded cases, ../../recorder/interp.py, into a guest.

The interpreter was written for the reference, and follows this text unchanged. It opens the file of the
case, which a guest does not have: the case is a value of the configuration.
"""
import io
import json
import os

# Without a case, as in `kopf inspect`, an operator with the startup handler alone.
_case = json.loads(os.environ.get('KOPF_CASE_JSON_TEXT', '{"operator": {}}'))

# The host chooses the webhook server, by its flags: no guest may name files.
for _operator in [_case['operator'], *(_case.get('operators') or {}).values()]:
    for _name in ('admission.server', 'admission.managed'):
        (_operator.get('settings') or {}).pop(_name, None)

os.environ['KOPF_CASE_JSON'] = 'case.json'


def open(path):
    return io.StringIO(json.dumps(_case))


