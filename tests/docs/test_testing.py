"""docs/testing.md: its table is the sandbox's, and each of its tests passes against the service."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from providers.sandbox import TABLE
from tests.conftest import ROOT
from tests.live import LiveService

PAGE = (ROOT / "docs" / "testing.md").read_text()
SECONDS = 180  # for all its tests, most of which wait; a loaded machine takes a third of that


def program(language):
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The page's programs at work, by their language: side by side, as they mostly wait."""
    live = LiveService(tmp_path_factory.mktemp("sandbox"), web_processes=1)
    folder = tmp_path_factory.mktemp("programs")
    (folder / "test_outcomes.py").write_text(program("python"))
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder, "test_outcomes.py"]
    commands = {"python": tests, "bash": ["bash", "-euxo", "pipefail", "-c", program("bash")]}

    def run(language):
        made = live.json("createproject", f"Tests in {language}", "--sandbox")
        environment = {
            "PATH": os.environ["PATH"],
            "WATCHWORD_URL": f"http://127.0.0.1:{live.port}",
            "WATCHWORD_API_KEY": made["api_key"],
            "WATCHWORD_SECRET_KEY": made["secret_key"],
        }
        return subprocess.run(
            commands[language], cwd=folder, env=environment, capture_output=True, text=True, timeout=SECONDS
        )

    try:
        live.start()
        with ThreadPoolExecutor() as threads:
            yield {language: threads.submit(run, language) for language in commands}
    finally:
        live.stop()


def test_its_table_is_the_sandboxs():
    rows = re.findall(r"^\| `([a-z-]+)` \| `(\d\d)` \| (.*) \| (.*) \|$", PAGE, re.MULTILINE)
    assert rows == [(row.outcome.value, row.digits, row.session, row.manual) for row in TABLE]


@pytest.mark.parametrize("language", ["python", "bash"])
def test_every_outcome_has_its_test(language):
    text = program(language)
    assert [row.outcome for row in TABLE if row.outcome not in text and f"55501{row.digits}" not in text] == []


@pytest.mark.long
def test_its_python_passes(runs):
    done = runs["python"].result()
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="There is no curl on this machine.")
def test_its_curl_passes(runs):
    done = runs["bash"].result()
    assert done.returncode == 0, done.stderr[-2000:]
