"""Runs the scenarios in the tests of Python."""

# [scenarios]

import subprocess


def test_scenarios():
    subprocess.run(["kopf", "test", "--module", "operator.py"], check=True)

# [/scenarios]
