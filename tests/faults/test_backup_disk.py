"""A backup onto a disk that fills up, which is a real small one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.faults.test_metrics_disk import ON_A_SMALL_DISK, is_allowed
from tests.live import ROOT
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.timeout(600)  # of the first test, which may wait for all migrations

# The dump of an empty installation is larger than the disk.
PROGRAM = """
mount -t tmpfs -o size=64k tmpfs "$FOLDER" || exit 99
"$PYTHON" manage.py backup "$FOLDER"
echo "ended with $?"
find "$FOLDER" -type f ! -name '*.lock'
"""


@pytest.fixture(scope="module")
def database():
    with PostgresServer(is_migrated=True) as server:
        yield server


def test_a_full_disk_is_told_and_no_half_file_is_left(database, tmp_path):
    if not is_allowed(tmp_path):
        pytest.skip("This machine lets nobody mount a disk of their own.")
    folder = tmp_path / "backups"
    folder.mkdir()
    environment = {
        **os.environ,
        "WATCHWORD_HOME": str(tmp_path / "home"),
        "DATABASE_URL": database.url,
        "EMBEDDED": "true",
        "PATH": f"{database.binaries()}:{os.environ['PATH']}",
        "PYTHON": sys.executable,
        "FOLDER": str(folder),
    }
    done = subprocess.run(
        [*ON_A_SMALL_DISK, PROGRAM], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.stderr == f"watchword: There is no space left on the disk of {folder}.\n"
    assert done.stdout == "ended with 1\n"
