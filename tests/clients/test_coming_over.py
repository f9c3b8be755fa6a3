"""The programs of the guides for those who come from elsewhere verify an address on a live service."""

import json
import re

import pytest
from watchword import Watchword

from tests.clients.programs import CODE, TO
from tests.live import ROOT

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("clients"), pytest.mark.timeout(300)]

SETUP = f"""
import json
from verification.services.providers import accounts
from verification.services.projects import projects, test_logins
new = projects.create_project(name="Coming over")
accounts.add_provider(project=new.project, channel="sms", provider_type="inbox", name="sms", values={{}})
test_logins.add_test_login(project=new.project, to="{TO}", code="{CODE}")
print(json.dumps({{"WATCHWORD_API_KEY": new.api_key, "WATCHWORD_SECRET_KEY": new.secret_key}}))
"""


@pytest.fixture(scope="module")
def keys(service):
    made = json.loads(service.manage("shell", "-v", "0", "-c", SETUP))
    return {**made, "WATCHWORD_URL": service.environment["BASE_URL"], "ALLOW_TEST_LOGINS": "1"}


@pytest.fixture
def program(keys, monkeypatch):
    """Return a function that runs what a guide shows as ``after.py``, and returns its names."""
    for name, value in keys.items():
        monkeypatch.setenv(name, value)

    def run(vendor):
        page = (ROOT / "docs" / f"from-{vendor}.md").read_text()
        (source,) = re.findall(r"```python\n# after\.py\n(.*?)```", page, re.DOTALL)
        names = {}
        exec(compile(source, f"from-{vendor}.md", "exec"), names)
        return names

    return run


def test_the_program_of_the_guide_from_vonage(program):
    shown = program("vonage")
    session_id = shown["start"](TO)
    assert shown["verified_address"](session_id, "000000") is None
    assert shown["verified_address"](session_id, CODE) == TO
    assert shown["verified_address"](session_id, CODE) is None


def test_the_program_of_the_guide_from_otpgateway(program):
    shown = program("otpgateway")
    shown["put"]("user-000017", TO)
    assert shown["check"]("user-000017", "000000") is None
    assert shown["check"]("user-000017", CODE) == TO


def test_the_program_of_the_guide_from_firebase(program, keys):
    shown = program("firebase")
    page = Watchword(keys["WATCHWORD_URL"], api_key=keys["WATCHWORD_API_KEY"])
    token = page.check_code(page.create_session(TO).session_id, CODE).verify_token
    assert shown["phone_number"](token) == TO
    assert shown["phone_number"](token) is None
