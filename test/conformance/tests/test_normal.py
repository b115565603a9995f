import base64
import unittest

from runner.normal import Normaliser

NORMAL = Normaliser('c001-abcde', [23456, 23457], '/tmp/x', {'main': 'operator1a', 'b': 'operator1b'})


class Texts(unittest.TestCase):
    TABLE = [
        ('in c001-abcde', 'in <ns>'),
        ('https://127.0.0.1:23456/', 'https://127.0.0.1:<port>/'),
        ('https://127.0.0.1:23457/', 'https://127.0.0.1:<port2>/'),
        ('2020-01-01T00:00:00.123456Z', '<ts.6fZ>'),  # the microseconds hold the digits of a port
        ('2020-01-01T00:00:00.000000+00:00', '<ts.6f+00:00>'),
        ('2020-01-01T00:00:00', '<ts>'),
        ('by operator1a and operator1b', 'by <operator> and <operator-b>'),
        ('me@host/20200101000000/abc', '<user@host/time/rnd>'),
        ('01234567-89ab-cdef-0123-456789abcdef', '<uid>'),
        ('after 0:00:01.500000', 'after <duration>'),
        ('{not json}', '{not json}'),
    ]

    def test_texts(self):
        for text, expected in self.TABLE:
            with self.subTest(text):
                self.assertEqual(NORMAL.apply(text), expected)


class Documents(unittest.TestCase):
    def test_text_that_is_json(self):
        got = NORMAL.apply({'a': '{"x":"c001-abcde"}\n'})
        self.assertEqual(got, {'a': {'$json': {'x': '<ns>'}, '$tail': '\n'}})

    def test_admission_patch(self):
        text = base64.b64encode(b'[{"op":"add"}]').decode()
        self.assertEqual(NORMAL.apply({'patch': text}), {'patch': {'$base64json': [{'op': 'add'}]}})

    def test_versions_and_what_the_server_makes_up(self):
        body = {'metadata': {'resourceVersion': '12', 'generation': 3, 'uid': 1}}
        self.assertEqual(NORMAL.apply(body), {'metadata': {'resourceVersion': '<rv>', 'uid': 1}})

    def test_guard_of_a_json_patch(self):
        patch = [{'op': 'test', 'path': '/metadata/resourceVersion', 'value': '12'}]
        self.assertEqual(NORMAL.apply({'body': patch})['body'][0]['value'], '<rv>')
        self.assertEqual(patch[0]['value'], '12', 'the input is changed')
