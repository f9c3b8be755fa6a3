"""Twilio's own libraries run their sync flow against a live service, by the programs of docs/from-twilio.md."""

import json
import re

import pytest

from tests.clients.programs import CODE, MODULES, TO, TOOLS, flow, need, run
from tests.live import ROOT

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("clients"), pytest.mark.timeout(300)]

PAGE = (ROOT / "docs" / "from-twilio.md").read_text()
HERE = ROOT / "tests" / "clients"
PYTHON = TOOLS / "bin" / "python"
PROGRAM = re.compile(r"```\w+\n(?:#|//) (address\.\w+)\n(.*?)```", re.DOTALL)

SETUP = f"""
import json
from verification.core import sids
from verification.models import ApiKey
from verification.services.providers import accounts
from verification.services.projects import projects, test_logins
new = projects.create_project(name="From Twilio")
project = new.project
project.twilio_endpoints, project.sends_per_10_minutes = True, 1
project.save()
for channel in ("sms", "voice"):
    accounts.add_provider(project=project, channel=channel, provider_type="inbox", name=channel, values={{}})
test_logins.add_test_login(project=project, to="{TO}", code="{CODE}")
key = ApiKey.objects.get(project=project, kind="secret")
print(json.dumps({{
    "TWILIO_ACCOUNT_SID": sids.of_project(sids.ACCOUNT, project.public_id),
    "TWILIO_AUTH_TOKEN": new.secret_key,
    "API_KEY_SID": sids.of_key(key.digest),
    "VERIFY_SERVICE_SID": sids.of_project(sids.SERVICE, project.public_id),
}}))
"""

# What both libraries see; a refusal as its HTTP status and Twilio's code.
SEEN = {
    "started": ["pending", "sms", False, TO],
    "wrong": ["pending", False, True],
    "fetched": ["pending", True, True],
    "right": ["approved", True],
    "again": [404, 20404],
    "sends": ["sms"],
    "too soon": [429, 60212],
    "too many sends": [429, 60203],
    "canceled": "canceled",
    "gone": [404, 20404],
    "guesses": ["pending"] * 5,
    "too many guesses": [429, 60202],
    "no number": [400, 60200],
    "no channel": [400, 60223],
    "own code": [403, 60204],
    "unknown key": [401, 20003],
}


@pytest.fixture(scope="module")
def account(service):
    made = json.loads(service.manage("shell", "-v", "0", "-c", SETUP))
    return {**made, "WATCHWORD_URL": service.environment["BASE_URL"], "TO": TO, "CODE": CODE}


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Return a folder with the programs that the page shows."""
    home = tmp_path_factory.mktemp("from-twilio")
    for name, source in PROGRAM.findall(PAGE):
        (home / name).write_text(source)
    return home


def test_twilios_python_library_runs_its_flow(account, programs):
    need(*(TOOLS / "lib").glob("python3*/site-packages/twilio") or [TOOLS / "twilio"])
    numbers = {"STRANGER": "+4915112345671", "GUESSED": "+4915112345672"}
    output = run(PYTHON, HERE / "flow_twilio.py", cwd=programs, PYTHONPATH=str(programs), **account, **numbers)
    assert flow(output) == SEEN


def test_twilios_library_for_node_runs_its_flow(account, programs):
    need("node", MODULES / "twilio")
    numbers = {"STRANGER": "+4915112345673", "GUESSED": "+4915112345674"}
    (programs / "flow.js").write_text((HERE / "flow_twilio.js").read_text())
    assert flow(run("node", "flow.js", cwd=programs, NODE_PATH=str(MODULES), **account, **numbers)) == SEEN


def test_the_flow_of_twilios_quickstart_runs_unchanged_but_for_the_address(account, programs):
    need(*(TOOLS / "lib").glob("python3*/site-packages/twilio") or [TOOLS / "twilio"])
    said = flow(run(PYTHON, HERE / "quickstart_twilio.py", cwd=programs, PYTHONPATH=str(programs), **account))
    assert said == [
        "Enter the code.",
        "Verify your number first.",
        "The code is incorrect.",
        "The number is verified. Please log in.",
        "Error validating code: TwilioRestException",
        "The secret page.",
    ]
