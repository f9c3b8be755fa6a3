"""An installation without the apps that it can do without: they are gone, and all else works.

The settings are read once a process, so another one runs ``left_out.py`` and a selection of the other tests.
"""

import os
import re
import subprocess
import sys

import pytest
from django.conf import settings

from tests.conftest import ROOT

SELECTION = (
    "tests/contrib",
    "tests/api/session/test_create.py",
    "tests/api/session/test_check.py",
    "tests/api/session/test_verify.py",
    "tests/admin/test_secrets.py",
    "tests/services/projects",
    "tests/admin/test_channels.py",
    "tests/services/providers",
    "tests/services/texts",
)


def run(*program, without):
    ours = ("CI", "PYTEST_", "WATCHWORD_", "DJANGO_")  # what is left out skips tests, as CI else allows none to
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment["WITHOUT_APPS"] = without
    return subprocess.run([sys.executable, *program], cwd=ROOT, env=environment, capture_output=True, text=True)


def first_faults(output):
    """What went wrong first explains the rest, which may be long."""
    start = re.search(r"^=+ (ERRORS|FAILURES) =+$", output, re.MULTILINE)
    return output[start.start() if start else 0 :][:8_000]


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("without", settings.CONTRIB)
def test_the_rest_works(without):
    done = run(
        *("-m", "pytest", "-q", "-n", "1", "tests/contrib/left_out.py", *SELECTION),
        *("--ignore", "tests/contrib/test_left_out.py", "-p", "no:cacheprovider"),
        without=without,
    )
    assert done.returncode == 0, first_faults(done.stdout)
    assert re.search(r"\b[1-9]\d{2,} passed", done.stdout), done.stdout[-2_000:]


@pytest.mark.parametrize(
    "without", [*(pytest.param(app, marks=pytest.mark.long) for app in settings.CONTRIB), ",".join(settings.CONTRIB)]
)
def test_what_is_left_out_is_gone(without):
    done = run("-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", "tests/contrib/left_out.py", without=without)
    assert done.returncode == 0, first_faults(done.stdout)
    assert "passed" in done.stdout


def test_a_part_that_there_is_not_is_named():
    done = run("manage.py", "check", without="hosted,hosting")
    assert done.returncode != 0
    names = ", ".join(settings.CONTRIB)
    assert f"WITHOUT_APPS takes some of these, separated by commas: {names}." in done.stderr
