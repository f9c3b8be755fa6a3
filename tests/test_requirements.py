"""Pip installs what `requirements/lock` wrote from the .in files: everything by version and hash."""

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "requirements"
PIN = re.compile(r"^([a-z0-9._-]+)(?:\[[a-z,]+\])?==(\S+)", re.MULTILINE)


def asked_for(name):
    """The pins of one .in file and of those that it includes."""
    text = (FOLDER / f"{name}.in").read_text()
    included = re.findall(r"^-r ([a-z]+)\.in$", text, re.MULTILINE)
    return dict(PIN.findall(text)) | {package: pin for other in included for package, pin in asked_for(other).items()}


def locked(name):
    return dict(PIN.findall((FOLDER / f"{name}.txt").read_text()))


@pytest.mark.parametrize("name", ["local", "production", "dev"])
def test_a_lock_holds_what_was_asked_for_and_every_file_by_its_hash(name):
    pins = locked(name)
    assert len(asked_for(name)) < len(pins)
    assert {package: pins.get(package) for package in asked_for(name)} == asked_for(name)
    requirements = re.split(r"(?m)^(?=[a-z])", (FOLDER / f"{name}.txt").read_text())[1:]
    assert [text for text in requirements if not re.search(r"--hash=sha256:[0-9a-f]{64}", text)] == []


@pytest.mark.parametrize("name", ["local", "production"])
def test_what_runs_is_what_was_tested(name):
    tested = locked("dev") | {"sentry-sdk": locked("production")["sentry-sdk"]}
    assert locked(name).items() <= tested.items()
