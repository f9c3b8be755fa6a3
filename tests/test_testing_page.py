"""docs/testing.md: its table is the sandbox's, and each of its tests passes against the service."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from providers.sandbox import TABLE
from tests.live import LiveService

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "testing.md").read_text()
SECONDS = 180  # for all its tests, most of which wait; a loaded machine takes a third of that


def program(language):
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    live = LiveService(tmp_path_factory.mktemp("sandbox"), web_processes=1)
    try:
        live.start()
        made = live.json("createproject", "Tests", "--sandbox")
        yield {
            "PATH": os.environ["PATH"],
            "WATCHWORD_URL": f"http://127.0.0.1:{live.port}",
            "WATCHWORD_API_KEY": made["api_key"],
            "WATCHWORD_SECRET_KEY": made["secret_key"],
        }
    finally:
        live.stop()


def test_its_table_is_the_sandboxs():
    rows = re.findall(r"^\| `([a-z-]+)` \| `(\d\d)` \| (.*) \| (.*) \|$", PAGE, re.MULTILINE)
    assert rows == [(row.outcome.value, row.digits, row.session, row.manual) for row in TABLE]


@pytest.mark.parametrize("language", ["python", "bash"])
def test_every_outcome_has_its_test(language):
    text = program(language)
    assert [row.outcome for row in TABLE if row.outcome not in text and f"55501{row.digits}" not in text] == []


def test_its_python_passes(environment, tmp_path):
    path = tmp_path / "test_outcomes.py"
    path.write_text(program("python"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, path]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="There is no curl on this machine.")
def test_its_curl_passes(environment):
    command = ["bash", "-euxo", "pipefail", "-c", program("bash")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr[-2000:]
