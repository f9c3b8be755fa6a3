"""django-allauth and better-auth log users in by a live service: their published packages, the code of their guides."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.fakes.http_server import FakeHttpServer
from tests.live import ROOT, LiveService, wait_until
from tests.snippets import block

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("clients"), pytest.mark.timeout(300)]

HERE = Path(__file__).parent / "logins"
ALLAUTH = ROOT / "var" / "allauth" / "bin" / "python"
BETTER_AUTH = ROOT / "var" / "better-auth" / "node_modules"
DATABASE = """
import { memoryAdapter } from "better-auth/adapters/memory";
export const database = memoryAdapter({ user: [], session: [], account: [], verification: [], rateLimit: [] });
"""
PHONE, MAIL = "+4915112345678", "ada@example.com"

SETUP = """
import json, sys
from verification.services.providers import accounts
from verification.services.projects import projects
new = projects.create_project(name=sys.argv[1])
for channel in ("sms", "email"):
    accounts.add_provider(
        project=new.project, channel=channel, provider_type="http", name=channel, values={"url": sys.argv[2]}
    )
print(json.dumps({"project": new.project.pk, "WATCHWORD_SECRET_KEY": new.secret_key}))
"""
STATE = """
import json, sys
from verification.models import Message, Recipient
rows = Message.objects.filter(project=int(sys.argv[1])).order_by("created_at")
print(json.dumps({
    "verified": [row.verified_at is not None for row in rows],
    "languages": sorted({row.language for row in rows}),
    "known": sorted(Recipient.objects.filter(project=int(sys.argv[1]), known_at__isnull=False)
        .values_list("address", flat=True)),
    "subnets": sorted({row.subnet for row in rows}),
}))
"""


@pytest.fixture(scope="module")
def gateway():
    with FakeHttpServer() as server:
        yield server


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    live = LiveService(tmp_path_factory.mktemp("service"), web_processes=1)
    try:
        yield live.start()
    finally:
        live.stop()


@pytest.fixture
def shop(service, gateway):
    """Make a project with the connection of a guide, by the guide's own command."""

    def made(page):
        name = page.removeprefix("docs/with-").removesuffix(".md")
        new = json.loads(service.python(SETUP, name, f"http://127.0.0.1:{gateway.port}/send"))
        [line] = [line for line in block(page, "sh", "addconnection").splitlines() if "addconnection" in line]
        arguments = line.replace(" Shop ", f" {new['project']} ").split()[1:]
        connection = service.json(*arguments)
        return new["project"], {
            "WATCHWORD_URL": service.environment["BASE_URL"],
            "WATCHWORD_CONNECTION": connection["url"],
            "WATCHWORD_SECRET": connection["secret"],
            "WATCHWORD_SECRET_KEY": new["WATCHWORD_SECRET_KEY"],
            "PHONE": PHONE,
            "MAIL": MAIL,
        }

    return made


class Program:
    """A login that runs, and asks for the codes which its users have got."""

    def __init__(self, gateway, *command, cwd, **environment):
        self.gateway = gateway
        self.seen = len(gateway.requests)
        self.process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def enter_code(self, to):
        """Wait until it asks, read the code at the gateway as the user would, and enter it."""
        asked = self.process.stdout.readline()
        assert asked, self.process.stderr.read()[-4_000:]
        wait_until(lambda: len(self.gateway.requests) > self.seen, "the code is at the gateway")
        sent = self.gateway.requests[self.seen].json()
        self.seen += 1
        assert sent["to"] == to and sent["code"] in sent["text"] and re.fullmatch("[0-9]{6}", sent["code"])
        self.process.stdin.write(f"{sent['code']}\n")
        self.process.stdin.flush()

    def end(self):
        out, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, errors[-4_000:]
        return json.loads(out.splitlines()[-1])


def test_django_allauth_signs_a_user_up_and_in(shop, service, gateway, tmp_path):
    if not list((ROOT / "var" / "allauth").glob("lib/python3*/site-packages/allauth")):
        pytest.skip("django-allauth is not installed: var/allauth/bin/pip install django-allauth==65.21.1")
    page = "docs/with-django-allauth.md"
    project, environment = shop(page)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "adapter.py").write_text(block(page, "python", "# shop/adapter.py"))
    (tmp_path / "settings_of_the_page.py").write_text(block(page, "python", "ACCOUNT_ADAPTER"))
    program = Program(gateway, ALLAUTH, HERE / "allauth_shop.py", cwd=tmp_path, **environment)
    program.enter_code(PHONE)
    program.enter_code(PHONE)
    assert program.end() == {
        "in after a wrong code": False,
        "in after the right one": True,
        "in after the log-out": False,
        "in after the log-in": True,
    }
    assert json.loads(service.python(STATE, str(project))) == {
        "verified": [True, True],
        "languages": ["de"],
        "known": [PHONE],
        "subnets": ["127.0.0.0/24"],  # from where the test's browser calls
    }


def test_better_auth_signs_users_in_by_phone_and_by_mail(shop, service, gateway, tmp_path):
    if not (BETTER_AUTH / "better-auth").exists():
        pytest.skip("better-auth is not installed: npm install --prefix var/better-auth better-auth@1.7.25")
    page = "docs/with-better-auth.md"
    project, environment = shop(page)
    (tmp_path / "auth.mjs").write_text(block(page, "js", "// auth.mjs"))
    (tmp_path / "database.mjs").write_text(DATABASE)
    (tmp_path / "shop.mjs").write_text((HERE / "better_auth_shop.mjs").read_text())
    (tmp_path / "node_modules").symlink_to(BETTER_AUTH)
    quiet = {
        "BETTER_AUTH_SECRET": "of a test, with more than 32 characters",
        "BETTER_AUTH_URL": "http://localhost:3000",
    }
    program = Program(gateway, "node", "shop.mjs", cwd=tmp_path, **environment, **quiet)
    program.enter_code(PHONE)
    program.enter_code(MAIL)
    assert program.end() == {
        "premium": [400, "No code can be sent to this recipient."],
        "wrong": 400,
        "phone": [200, PHONE],
        "mail": [200, MAIL],
    }
    assert json.loads(service.python(STATE, str(project))) == {
        "verified": [True, True],
        "languages": ["de"],
        "known": [PHONE, MAIL],
        "subnets": [""],
    }
