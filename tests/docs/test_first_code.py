"""The programs of docs/first-code.md create a session. One whose language is not here is skipped."""

import json
import shutil
import subprocess
import sys

import pytest

from tests.live import LiveService
from verification.admin.projects.example_code import filled_in

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.timeout(300)]

# language -> the file that its program is kept in, and the command that runs it
RUN = {
    "curl": ("first.sh", ["sh"]),
    "Python": ("first.py", [sys.executable]),
    "JavaScript": ("first.mjs", ["node"]),
    "PHP": ("first.php", ["php"]),
    "Go": ("first.go", ["go", "run"]),
    "Java": ("FirstCode.java", ["java"]),
}
SETUP = """
import json
from verification.services.providers import accounts
from verification.services.projects import projects
new = projects.create_project(name="First")
accounts.add_provider(project=new.project, channel="email", provider_type="inbox", name="mail", values={})
print(json.dumps(new.api_key))
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    live = LiveService(tmp_path_factory.mktemp("service"), web_processes=1)
    try:
        live.start(workers=0)
        key = json.loads(live.manage("shell", "-v", "0", "-c", SETUP))
        yield {each.language: each.text for each in filled_in(live.environment["BASE_URL"], key)}
    finally:
        live.stop()


@pytest.mark.parametrize("language", RUN)
def test_the_program_creates_a_session(programs, language, tmp_path):
    name, command = RUN[language]
    if shutil.which(command[0]) is None:
        pytest.skip(f"There is no {command[0]} on this machine to run the program with.")
    (tmp_path / name).write_text(programs[language])
    done = subprocess.run([*command, name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["session_id"]


def test_there_is_a_program_for_each_language(programs):
    assert list(programs) == list(RUN)
