"""A PostgreSQL whose disk, a real small one, fills up while nobody uses the service."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from config.processes.embedded.server import SOCKETS
from tests.live import ROOT

pytestmark = pytest.mark.timeout(600)  # of the first test, which may wait for all migrations

MOUNT = 'mount -t tmpfs -o size=96m tmpfs "$FOLDER"'
SCRIPT = """
import os, subprocess, sys
from contextlib import suppress
from pathlib import Path
from config.processes.embedded.postgres import NOBODY
from tests.servers.postgres import PostgresServer

def say():
    environment = {**os.environ, "DATABASE_URL": server.url, "EMBEDDED": "true"}
    done = subprocess.run([sys.executable, "manage.py", "health"], env=environment, capture_output=True, text=True)
    print(done.returncode, done.stderr.splitlines()[-1:])

space, filler = Path(os.environ["FOLDER"], "space"), Path(os.environ["FOLDER"], "filler")
space.mkdir()
with PostgresServer(is_migrated=True) as server:
    os.chown(space, NOBODY, NOBODY)
    server.execute(f"CREATE TABLESPACE small LOCATION '{space}'", "ALTER DATABASE watchword SET TABLESPACE small")
    say()
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    server.execute("UPDATE verification_upkeep SET finished_at = NULL", database="watchword")  # five seconds later
    say()
    filler.unlink()
    say()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root mounts a disk that PostgreSQL's own user can use.")
def test_a_full_disk_is_no_readiness_and_one_with_room_again_is(tmp_path):
    with tempfile.TemporaryDirectory(prefix="watchword-", dir=SOCKETS) as folder:  # which PostgreSQL's user can reach
        Path(folder).chmod(0o755)
        environment = {**os.environ, "FOLDER": folder, "PYTHON": sys.executable, "SCRIPT": SCRIPT}
        environment |= {"WATCHWORD_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
        command = ["unshare", "--mount", "sh", "-c", f'{MOUNT} && exec "$PYTHON" -c "$SCRIPT"']
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines() == [
        "0 []",
        "1 ['watchword: The database cannot write: its disk is full, or it lacks memory.']",
        "0 []",
    ], done.stderr
