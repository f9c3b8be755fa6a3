"""The demo page: only in embedded mode, only for this machine, and its server redeems what the form hands it."""

import json

import pytest
from django.test import Client

from providers.adapters.inbox import InboxMessage
from tests.api.calls import Api
from verification.models import Project, Provider
from verification.services.maintenance.demo import ensure_demo
from verification.services.projects.test_logins import add_test_login
from verification.services.providers.store import ProviderStore

pytestmark = pytest.mark.django_db
PATHS = ("/demo/", "/demo/inbox", "/demo/redeem")


@pytest.fixture
def demo(tmp_path, settings):
    settings.HOME_DIR = tmp_path
    settings.IS_EMBEDDED = settings.SHOW_CODES_TO_OPERATORS = True
    return ensure_demo(tmp_path / "demo.json")


def ask(path, **more):
    if path == "/demo/redeem":
        return Client().post(path, "{}", content_type="application/json", **more)
    return Client().get(path, **more)


@pytest.mark.requirement(117)
@pytest.mark.parametrize("path", PATHS)
def test_it_is_there_in_embedded_mode_alone(demo, settings, path):
    assert ask(path).status_code != 404
    settings.IS_EMBEDDED = False
    assert ask(path).status_code == 404


@pytest.mark.requirement(117)
@pytest.mark.parametrize("path", PATHS)
def test_it_is_for_this_machine_alone(demo, path):
    assert ask(path, REMOTE_ADDR="203.0.113.9").status_code == 404
    assert ask(path, REMOTE_ADDR="10.0.0.7").status_code == 404
    assert ask(path, REMOTE_ADDR="").status_code == 404
    assert ask(path, headers={"x-forwarded-for": "203.0.113.9"}).status_code == 404
    assert ask(path, REMOTE_ADDR="::1").status_code != 404


@pytest.mark.parametrize("path", PATHS)
def test_it_is_not_there_without_a_demo_or_where_codes_are_shown_to_nobody(demo, settings, path, tmp_path):
    settings.SHOW_CODES_TO_OPERATORS = False
    assert ask(path).status_code == 404
    settings.SHOW_CODES_TO_OPERATORS = True
    (tmp_path / "demo.json").unlink()
    assert ask(path).status_code == 404


@pytest.mark.requirement(117)
def test_it_holds_the_public_key_and_the_guides_server_and_nothing_secret(demo):
    answer = Client().get("/demo/")
    page = answer.content.decode()
    assert demo.api_key in page and "/session/verify" in page and "http.server" in page
    assert demo.secret_key not in page and demo.admin_password not in page
    assert answer["Cache-Control"] == "no-store" and "frame-ancestors 'none'" in answer["Content-Security-Policy"]


@pytest.mark.parametrize(("browser", "language"), [("ar-EG,en;q=0.5", "ar"), ("ru", "ru"), ("tlh", "en"), ("", "en")])
def test_the_form_speaks_the_browsers_language(demo, browser, language):
    page = Client().get("/demo/", headers={"accept-language": browser}).content.decode()
    assert f' language="{language}"' in page


def test_the_inbox_shows_what_the_demo_project_sent(demo):
    inbox = Provider.objects.get(project=demo.project, type="inbox", channel="sms")
    kept = InboxMessage("+49151", "sms", "4711", "Your code is 4711", "", "en", "Demo", "2026-01-01T00:00:00.000Z")
    fields = {name: getattr(kept, name) for name in InboxMessage.__slots__}
    ProviderStore(inbox.pk).push("messages", json.dumps(fields), keep=10, seconds=60)
    [message] = Client().get("/demo/inbox").json()["messages"]
    assert (message["to"], message["channel"], message["code"]) == ("+49151", "SMS", "4711")


def test_a_token_is_redeemed_once(demo):
    add_test_login(project=Project.objects.get(pk=demo.project), to="ann@example.com", code="123456")
    api = Api(Client(), demo.api_key, demo.secret_key)
    session = api.create("ann@example.com").data["session_id"]
    body = {"verify_token": api.check(session, "123456").data["verify_token"]}
    first = Client().post("/demo/redeem", body, content_type="application/json")
    assert (first.status_code, first.json()) == (200, {"email": "ann@example.com"})
    again = Client().post("/demo/redeem", body, content_type="application/json")
    assert (again.status_code, again.json()["code"]) == (410, "verify_token_expired")


@pytest.mark.parametrize(
    "body", ["", "[]", "{", '{"verify_token": 1}', '{"verify_token": "\\u0000"}', '"' + "x" * 2000]
)
def test_what_is_no_token_is_refused(demo, body):
    assert Client().post("/demo/redeem", body, content_type="application/json").status_code == 400
