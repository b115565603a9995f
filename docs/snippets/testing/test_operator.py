"""Runs the scenarios in the tests of Python, and tests single functions."""

# [scenarios]

import subprocess


def test_scenarios():
    subprocess.run(["kopf", "test", "--module", "operator.py"], check=True)

# [/scenarios]

# [handlers]

import types

import kopf
import pytest

import handlers


def test_a_paid_one_becomes_active():
    patch = types.SimpleNamespace(status={})
    assert handlers.create_fn(spec={"paid": True, "days": 30}, patch=patch) == {"days": 30}
    assert patch.status == {"phase": "Active"}


def test_an_unpaid_one_waits():
    with pytest.raises(kopf.TemporaryError):
        handlers.create_fn(spec={"days": 30}, patch=types.SimpleNamespace(status={}))

# [/handlers]
