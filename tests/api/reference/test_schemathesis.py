"""Schemathesis holds the running service against its own description.

It sends what the description allows and what it forbids: from examples, from the edges of every schema, and at random.
It looks at each answer: status, content type, headers, body, and whether the key was asked for.
``--rounds`` says how many requests it draws for each operation.
"""

import json
import os
import subprocess
import sys

import pytest

from tests.live import ROOT, LiveService

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("schemathesis"), pytest.mark.timeout(0)]

ROUND_SECONDS = 30  # the longest that a round may take
SHOWN_CHARACTERS = 1_500  # of its output: the summary
TEST_LOGINS, TEST_CODE = ["+46701740605", "+46701740606", "ada@example.com"], "493817"
SETUP = f"""
import json
from verification.models import Channel, ChannelType
from verification.models.project_settings import SETTABLE
from verification.services.providers import accounts
from verification.services.projects import projects, test_logins
new = projects.create_project(name="Fuzzed")
windows = ("_minutes", "_hour", "_day", "_second", "_address")
limits = [name for name in SETTABLE if name.endswith(windows) and not name.startswith(("guard_", "guess_"))]
limits += ["guard_prefix_numbers", "guard_country_sends"]
limits += ["guess_wrong_checks", "guess_network_recipients", "guess_same_value_sessions"]
projects.set_project(project=new.project, values=dict.fromkeys(limits, "0"))
for to in {TEST_LOGINS}:
    test_logins.add_test_login(project=new.project, to=to, code="{TEST_CODE}")
made = [
    accounts.add_provider(project=new.project, channel=channel, provider_type="inbox", name=channel, values={{}})
    for channel in ChannelType.values
]
print(json.dumps({{"api": new.api_key, "secret": new.secret_key, "provider": made[0].pk}}))
"""

CONFIG = """
seed = 20260504
request-timeout = 20.0
continue-on-failure = true
hooks = "tests.api.reference.schemathesis_hooks"

[auth.openapi]
ApiKey = {{ api_key = "{api}" }}
SecretKey = {{ api_key = "{secret}" }}

[generation]
max-examples = {examples}
deterministic = true
no-shrink = true
allow-x00 = false  # a NUL anywhere in a body is refused, which JSON Schema cannot say
database = "none"

[checks]
# Well-formed requests that the service's state refuses. 400 is only ever a fault of the description.
positive_data_acceptance = {{ expected-statuses = ["2xx", "403", "404", "409", "410", "429"] }}
negative_data_rejection = {{ expected-statuses = ["400", "401", "403", "404", "413", "415"] }}

[[operations]]
include-path = "/session/check"
# A wrong code is a 400, and a random one is wrong.
checks = {{ positive_data_acceptance = {{ expected-statuses = ["2xx", "400", "404", "409", "410", "429"] }} }}

[dictionaries]
sessions = {{ values = {sessions} }}
tokens = {{ values = {tokens} }}
messages = {{ values = {messages} }}

[parameters]
"body.session_id" = {{ dictionary = "sessions", probability = 0.5 }}
"query.session_id" = {{ dictionary = "sessions", probability = 0.5 }}
"body.verify_token" = {{ dictionary = "tokens", probability = 0.5 }}
"path.id" = {{ dictionary = "messages", probability = 0.5 }}
"""


@pytest.fixture
def service(tmp_path):
    live = LiveService(tmp_path, web_processes=1, TRUSTED_PROXIES="1")
    try:
        yield live.start(workers=0)
    finally:
        live.stop()


def test_the_service_keeps_to_its_description(service, tmp_path, request):
    shop = json.loads(service.manage("shell", "-v", "0", "-c", SETUP))
    config = tmp_path / "schemathesis.toml"
    rounds = request.config.getoption("--rounds")
    config.write_text(CONFIG.format(api=shop["api"], secret=shop["secret"], examples=rounds, **existing(service, shop)))
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run"]
    command += [
        f"{service.environment['BASE_URL']}/docs/openapi.json",
        "--checks",
        "all",
        "--phases",
        "examples,coverage,fuzzing",
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PROVIDER_ID": str(shop["provider"])}
    limit = rounds * ROUND_SECONDS
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=limit)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout[-SHOWN_CHARACTERS:])


def existing(service, shop):
    """Sessions, verify tokens and messages that exist, in as many states as can be had."""

    def post(path, body, key):
        status, answer, _ = service.call("POST", path, body, key=key)
        assert status == 200, answer
        return answer

    def session(to, **body):
        return post("/session/create", {"to": to, **body}, shop["api"])["session_id"]

    def verified(to):
        opened = session(to)
        checked = post("/session/check", {"session_id": opened, "code": TEST_CODE}, shop["api"])
        return opened, checked["verify_token"]

    pairs = [verified(to) for to in TEST_LOGINS]
    sessions = [pairs[0][0], session("bob@example.com"), session("+4915112345678", send=False)]
    sent = [
        post("/manual/send", {"to": to, "channel": "email"}, shop["secret"]) for to in ("a@b.example", "c@d.example")
    ]
    return {
        "sessions": json.dumps(sessions),
        "tokens": json.dumps([token for _, token in pairs]),
        "messages": json.dumps([message["message_id"] for message in sent]),
    }
