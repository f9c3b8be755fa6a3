"""The benchmarks that start the service run to their end, in their smallest form. Their figures are not looked at."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("budget --batches 1", "web process, a request"),
        ("floor --rounds 1 --seconds 1", "of the floor's rate"),
        ("flow --rounds 1 --seconds 1 --batch 20 --connections 2", "no errors"),
    ],
    ids=lambda value: value.split()[0],
)
def test_it_runs_to_its_end(command, told):
    name, *options = command.split()
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *options], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert told in done.stdout
