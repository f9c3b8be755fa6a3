"""``manage.py mcp``: asked over its standard input by the protocol's own client, beside a service that runs."""

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.live import LiveService

MCP = ROOT / "var" / "mcp"
TO = "delivered+reader@sandbox.example"


@pytest.fixture
def service(tmp_path):
    running = LiveService(tmp_path, web_processes=1)
    try:
        yield running.start()
    finally:
        running.stop()


@pytest.mark.live
@pytest.mark.skipif(not (MCP / "mcp").exists(), reason="mcp is not installed: .ci/run does it.")
def test_an_assistant_reads_how_the_service_is_and_no_whole_address(service):
    made = service.json("createproject", "Tests", "--sandbox")
    status, session, _ = service.call("POST", "/session/create", {"to": TO}, key=made["api_key"])
    assert status == 200
    done = subprocess.run(
        [sys.executable, "tests/commands/mcp_client.py", session["session_id"]],
        cwd=ROOT,
        env={**service.environment, "PYTHONPATH": str(MCP)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    told = json.loads(done.stdout)
    assert told["names"] == ["doctor", "health", "projects", "providers", "stats", "story"]
    answers = {name: json.loads(text) for name, text in told["answers"].items()}
    assert answers["story 01NOBODY"] == {"error": "There is no session and no message with this id."}
    story = answers[f"story {session['session_id']}"]
    assert story["recipient"].startswith("d***@") and story["project"] == "Tests" and story["diagnosis"]
    assert story["events"][0]["text"]
    assert [each["name"] for each in answers["projects"]["projects"]] == ["Tests"]
    assert {each["type"] for each in answers["providers"]["providers"]} == {"sandbox", "sandbox_bot"}
    assert {"findings", "worst"} <= set(answers["doctor"]) and "degraded" in answers["health"]
    assert "reader@" not in done.stdout


def test_without_its_package_it_says_what_to_install():
    done = subprocess.run([sys.executable, "manage.py", "mcp"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and "requirements/mcp.txt" in done.stderr and not done.stdout
