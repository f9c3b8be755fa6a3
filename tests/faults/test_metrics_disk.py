"""A full disk under METRICS_DIR: processes go on, and count again once there is room. The disk is a real small one."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.live import ROOT

# In a mount namespace of its own, so that the disk is nobody else's and goes with the process.
ON_A_SMALL_DISK = ["unshare", "--mount", "--map-root-user", "sh", "-c"]
MOUNT = 'mount -t tmpfs -o size=1m tmpfs "$METRICS_DIR"'
FILL = """
import os, sys
import django
django.setup()
from pathlib import Path
from django.conf import settings
from verification.core import caching, metrics
from verification.services.maintenance import exposition

def fill():
    with (settings.METRICS_DIR / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return

def count_what_is_new(name):
    for number in range(1000):
        metrics.count_refusal(f"{name}_{number}_{'x' * 100}")

def told(name):
    return exposition.counted().decode().count(f'code="{name}_')
"""
WARM = """
metrics.TRY_AGAIN_SECONDS = 0.0
metrics.count_refusal("old")
metrics.count_request("session/check", 400, 0.1)
fill()
metrics.count_refusal("old")
count_what_is_new("new")
print("alive", 'code="old"} 2.0' in exposition.counted().decode(), told("new") < 1000)
(settings.METRICS_DIR / "filler").unlink()
count_what_is_new("later")
print(told("later"))
"""
FRESH = """
fill()
count_what_is_new("new")
metrics.count_request("session/check", 400, 0.1)
print("alive", told("new"))
(settings.METRICS_DIR / "filler").unlink()
caching.clear_all()  # the minute after which it is tried again
metrics.count_refusal("later_")
print(told("later"))
"""


def is_allowed(tmp_path):
    environment = {**os.environ, "METRICS_DIR": str(tmp_path)}
    try:
        return subprocess.run([*ON_A_SMALL_DISK, MOUNT], env=environment, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def run_on_a_small_disk(tmp_path, program):
    if not is_allowed(tmp_path):
        pytest.skip("This machine lets nobody mount a disk of their own.")
    environment = {
        **os.environ,
        "WATCHWORD_HOME": str(tmp_path / "home"),
        "METRICS_DIR": str(tmp_path),
        "METRICS_TOKEN": "a-token-of-the-tests-0123456789abcdef",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "EMBEDDED": "true",
    }
    run = f'{MOUNT} && exec "{sys.executable}" -c "$PROGRAM"'
    return subprocess.run(
        [*ON_A_SMALL_DISK, run],
        env={**environment, "PROGRAM": FILL + program},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_process_that_counts_goes_on_when_the_disk_fills_and_counts_again_when_there_is_room(tmp_path):
    done = run_on_a_small_disk(tmp_path, WARM)
    assert (done.returncode, done.stdout.split("\n")[:2]) == (0, ["alive True True", "1000"]), done.stderr
    assert done.stderr.count("No space left on device") == 1  # of thousands of counts


def test_a_process_that_starts_on_a_full_disk_serves_without_counting(tmp_path):
    done = run_on_a_small_disk(tmp_path, FRESH)
    assert (done.returncode, done.stdout.split("\n")[:2]) == (0, ["alive 0", "1"]), done.stderr
    assert done.stderr.count("No space left on device") >= 1
