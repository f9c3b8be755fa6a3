"""Pip installs what `requirements/lock` wrote from pyproject.toml: everything by version and hash."""

import json
import re
import subprocess
import tomllib

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.conftest import ROOT

FOLDER = ROOT / "requirements"
PIN = re.compile(r"^([a-z0-9._-]+)(?:\[[a-z,]+\])?==(\S+)", re.MULTILINE)


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
SERVICE = PROJECT["project"]["dependencies"]
ASKED_FOR = {
    "local": [*SERVICE, *EXTRAS["embedded"]],
    "production": [*SERVICE, *EXTRAS["vendors"], *EXTRAS["traces"], *EXTRAS["sentry"]],
    "dev": [*SERVICE, *EXTRAS["embedded"], *EXTRAS["vendors"], *PROJECT["dependency-groups"]["dev"]],
    "site": PROJECT["dependency-groups"]["site"],
}


def locked(name):
    return dict(PIN.findall((FOLDER / f"{name}.txt").read_text()))


@pytest.mark.requirement(109)
@pytest.mark.parametrize("name", ASKED_FOR)
def test_a_lock_holds_what_was_asked_for_and_every_file_by_its_hash(name):
    pins = locked(name)
    asked_for = dict(PIN.findall("\n".join(ASKED_FOR[name])))
    assert len(asked_for) < len(pins)
    assert {package: pins.get(package) for package in asked_for} == asked_for
    requirements = re.split(r"(?m)^(?=[a-z])", (FOLDER / f"{name}.txt").read_text())[1:]
    assert [text for text in requirements if not re.search(r"--hash=sha256:[0-9a-f]{64}", text)] == []


@pytest.mark.requirement(109)
@pytest.mark.parametrize("name", ["local", "production"])
def test_what_runs_is_what_was_tested(name):
    tested = locked("dev") | {"sentry-sdk": locked("production")["sentry-sdk"]}
    assert locked(name).items() <= tested.items()


def licences():
    return tomllib.loads((FOLDER / "licences.toml").read_text())


def test_every_package_that_is_installed_has_a_licence_that_was_judged():
    told = licences()
    assert set(told["packages"]) == set(locked("local")) | set(locked("production"))
    words = {word for said in told["packages"].values() for word in re.split(r"[ ()]+", said)}
    used = words - {"AND", "OR", ""}
    assert used == set(told["judged"])


@pytest.mark.requirement(109)
@pytest.mark.parametrize("which", ["production", "local"])
def test_the_bill_of_materials_is_valid_and_has_every_package_of_the_lock(which):
    written = subprocess.run([FOLDER / "sbom", which], check=True, capture_output=True, text=True).stdout
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(written) is None
    bill = json.loads(written)
    lines = re.findall(r"(?m)^([a-z0-9._-]+)(?:\[[a-z,]+\])?==(\S+)", (FOLDER / f"{which}.txt").read_text())
    assert [(part["name"], part["version"]) for part in bill["components"]] == lines
    files = [file for part in bill["components"] for file in part["externalReferences"]]
    digests = re.findall(r"sha256:([0-9a-f]{64})", (FOLDER / f"{which}.txt").read_text())
    assert sorted(file["hashes"][0]["content"] for file in files) == sorted(digests)
