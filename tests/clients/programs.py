"""Programs that use the API, run as a customer would run them."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.live import ROOT

TOOLS = ROOT / "var" / "clients"  # a virtual environment with the Python packages
MODULES = ROOT / "var" / "npm" / "node_modules"
TO, CODE = "+46701740605", "493817"
# The one flow that each client runs, as each prints it.
SEEN = {
    "wrong": "invalid_code",
    "attempts_left": 4,
    "is_test": True,
    "phone": TO,
    "is_same": True,
    "status": "success",
}


def need(*paths):
    for path in paths:
        if not Path(path).exists() and shutil.which(str(path)) is None:
            pytest.skip(f"There is no {Path(path).name} on this machine to generate or run this client with.")


def run(*command, cwd, stdin="", **environment):
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout


def flow(output):
    """Read what a program saw: its last line."""
    return json.loads(output.splitlines()[-1])
