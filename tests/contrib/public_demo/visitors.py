"""What visitors of a public demo may do. ``test_public_demo.py`` runs it in a process of its own."""

import io
import json

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as PanelSession
from django.core import mail
from django.core.management import get_commands, load_command_class
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils import timezone

from providers.registry import adapter_class
from tests.commands.running import run
from tests.fakes.limits import set_limit
from verification.contrib.public_demo import middleware, season, world
from verification.core import caching
from verification.models import AuditEntry, DailySpend, Message, Project, Provider, Recipient, Session
from verification.services.delivery.sweep import sweep_once
from verification.services.maintenance.demo import path, read_demo

pytestmark = pytest.mark.django_db
TO = "+12125550100"


@pytest.fixture
def demo(tmp_path, settings, monkeypatch):
    settings.HOME_DIR = tmp_path
    set_limit(monkeypatch, "VISITS", 10_000, of=middleware)
    made = world.ensure(path(), lambda _: None, days=2, a_day=40)
    caching.clear_all()
    return made


def create(demo, to=TO):
    return Client().post(
        "/session/create", {"to": to}, content_type="application/json", headers={"x-api-key": demo.api_key}
    )


def pages():
    """The addresses of the panel that take no part of a row."""
    names = get_resolver().namespace_dict["admin"][1].reverse_dict
    return sorted({reverse(f"admin:{name}") for name in names if isinstance(name, str) and _is_plain(name)})


def _is_plain(name):
    try:
        reverse(f"admin:{name}")
    except Exception:
        return False
    return True


def state():
    """What a visitor could change, without what looking leaves: sessions of the panel, and when they came last."""
    kept = {model._meta.label: model.objects.count() for model in (Project, Provider, Message, Session, Recipient)}
    projects = list(Project.objects.order_by("pk").values())
    users = list(User.objects.order_by("pk").values("username", "password", "is_superuser", "is_active", "email"))
    return kept, projects, list(Provider.objects.order_by("pk").values()), users


def test_every_project_is_a_test_project_whose_providers_send_nothing(demo):
    assert settings.IS_PUBLIC_DEMO and settings.IS_EMBEDDED and not settings.SHOW_CODES_TO_OPERATORS
    assert set(Project.objects.values_list("name", "is_sandbox")) == {(season.SHOP, True), ("Demo", True)}
    types = set(Provider.objects.values_list("type", flat=True))
    assert types == {"sandbox", "sandbox_bot"}
    assert all(adapter_class(each).is_simulation for each in types)
    assert not User.objects.filter(is_superuser=True).exists()
    assert not User.objects.get(username=world.VISITOR).has_usable_password()
    assert settings.EMAIL_BACKEND.endswith(("dummy.EmailBackend", "locmem.EmailBackend"))  # the second is the tests'


def test_nobody_has_a_key_of_the_shop(demo):
    assert Project.objects.get(name=season.SHOP).keys.count() == 0


def test_a_visitor_sees_the_panel_without_a_login_and_the_season_on_it(demo):
    client = Client()
    page = client.get("/admin/")
    assert page.status_code == 200 and season.SHOP in page.content.decode()
    assert PanelSession.objects.count() == 1
    for name in ("session", "message", "provider", "channel", "alert", "guardblock", "decision"):
        listed = client.get(reverse(f"admin:verification_{name}_changelist"))
        assert listed.status_code == 200, name
        assert "/add/" not in listed.content.decode(), name


def test_the_story_of_the_user_without_a_code_says_why_no_other_provider_was_tried(demo):
    [session] = Session.objects.filter(recipient__address=season.UNLUCKY).order_by("created_at")[:1]
    story = Client().get(reverse("admin:verification_session_change", args=(session.pk,))).content.decode()
    assert "Northwind was skipped" in story and "It does not serve numbers with this prefix." in story
    assert "first in priority order" not in story and "reason was not recorded" not in story


def test_the_channels_budget_counts_todays_messages(demo):
    shop = Project.objects.get(name=season.SHOP)
    today = Message.objects.filter(project=shop, created_at__date=timezone.now().date(), is_counted=True)
    [spend] = DailySpend.objects.filter(project=shop)
    assert spend.messages == today.count()


def test_no_whole_recipient_of_the_season_is_shown(demo):
    listed = Client().get(reverse("admin:verification_message_changelist")).content.decode()
    whole = Recipient.objects.filter(project__name=season.SHOP).values_list("address", flat=True)
    assert "***" in listed and not [address for address in whole if address in listed]


def test_no_post_to_the_panel_changes_or_sends_anything(demo):
    client = Client()
    client.get("/admin/")
    before, audited = state(), AuditEntry.objects.count()
    addresses = pages()
    assert len(addresses) > 40
    project = Project.objects.get(name="Demo")
    addresses += [
        reverse("admin:verification_project_change", args=(project.pk,)),
        reverse("admin:verification_project_delete", args=(project.pk,)),
        reverse("admin:verification_provider_change", args=(Provider.objects.first().pk,)),
    ]
    form = {"name": "Taken", "username": "visitor", "password": "x", "password1": "x", "to": TO, "post": "yes"}
    for address in addresses:
        for method in (client.post, client.put, client.patch, client.delete):
            if address == reverse("admin:language"):
                continue
            answer = method(address, form) if method == client.post else method(address)
            assert answer.status_code == 403 and b"This is a demo" in answer.content, address
    assert state() == before and AuditEntry.objects.count() == audited
    sweep_once(limit=100)
    assert mail.outbox == []


def test_no_get_of_a_page_that_changes_a_row_is_let_in(demo):
    client = Client()
    client.get("/admin/")
    before = state()
    for address in pages():
        assert client.get(address).status_code in (200, 302, 403, 404, 405, 410), address
    assert state() == before


def test_the_visitor_has_no_right_beyond_looking_even_where_a_form_came_through(demo):
    """The second lock behind the middleware: the pages' own permissions."""
    settings.MIDDLEWARE.remove("verification.contrib.public_demo.middleware.VisitorMiddleware")
    try:
        client = Client()
        client.force_login(User.objects.get(username=world.VISITOR))
        before = state()
        project = Project.objects.get(name="Demo")
        for name in ("project", "provider", "channel"):
            added = client.post(f"/admin/verification/{name}/add/", {"name": "Taken"})
            assert added.status_code in (302, 403, 404), name
        client.post(reverse("admin:verification_project_change", args=(project.pk,)), {"name": "Taken"})
        assert state() == before
    finally:
        at = settings.MIDDLEWARE.index("verification.admin.auth.middleware.PanelMiddleware")
        settings.MIDDLEWARE.insert(at, "verification.contrib.public_demo.middleware.VisitorMiddleware")


@pytest.mark.parametrize(
    "address", ["/manual/send", "/hooks/1/x", "/connect/x", "/v2/Services/x/Verifications", "/nowhere"]
)
def test_nothing_else_takes_a_post(demo, address):
    assert Client().post(address, "{}", content_type="application/json").status_code == 403


@pytest.mark.skipif("hosted" in settings.WITHOUT_APPS, reason="the demo page is the hosted page's")
def test_a_verification_goes_through_in_the_sandbox_and_its_code_is_on_the_demo_page(demo):
    answer = create(demo)
    assert answer.status_code == 200
    sweep_once(limit=10)
    [message] = Client(REMOTE_ADDR="203.0.113.9").get("/demo/inbox").json()["messages"]
    assert (message["to"], message["code"]) == (TO, "424242") and "success" in message["text"]
    page = Client(REMOTE_ADDR="203.0.113.9").get("/demo/").content.decode()
    assert demo.api_key in page and demo.secret_key not in page and "424242" in page
    checked = Client().post(
        "/session/check",
        {"session_id": answer.json()["session_id"], "code": "424242"},
        content_type="application/json",
        headers={"x-api-key": demo.api_key},
    )
    token = {"verify_token": checked.json()["verify_token"]}
    redeemed = Client().post("/demo/redeem", json.dumps(token), content_type="application/json")
    assert redeemed.json() == {"phone": TO}


def test_a_number_that_is_somebody_s_is_refused(demo):
    answer = create(demo, to="+4915123456789")
    assert (answer.status_code, answer.json()["code"]) == (403, "recipient_not_allowed")


def test_a_reset_removes_what_visitors_left_and_nothing_else(demo):
    create(demo)
    Client().get("/admin/")
    shop = {model: model.objects.filter(project__name=season.SHOP).count() for model in (Message, Session, Recipient)}
    assert min(shop.values()) > 50
    said = run("resetdemo")
    assert "rows of visitors" in said
    assert not Session.objects.filter(project=demo.project).exists()
    assert not Message.objects.filter(project=demo.project).exists() and not PanelSession.objects.exists()
    after = {model: model.objects.filter(project__name=season.SHOP).count() for model in shop}
    assert after == shop
    assert read_demo(path()).api_key == demo.api_key  # pages that are open go on to work


def test_up_is_the_demos_own(demo):
    up = load_command_class(get_commands()["up"], "up")
    up.stdout = io.StringIO()
    assert up.prepare() == {"demo's reset": ["resetdemo", "--every", "3600"]}
    assert "http://demo.test/demo/" in up.describe("http://demo.test", "")


@pytest.mark.skipif("hosted" in settings.WITHOUT_APPS, reason="the demo page is the hosted page's")
def test_one_address_has_so_many_requests_a_minute(demo, monkeypatch):
    set_limit(monkeypatch, "VISITS", 2, of=middleware)
    client = Client(REMOTE_ADDR="203.0.113.77")
    answers = [client.get("/demo/inbox") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[-1]["Retry-After"]) > 0 and answers[-1].json()["code"] == "rate_limited"
    assert Client(REMOTE_ADDR="203.0.113.78").get("/demo/inbox").status_code == 200


def test_visitors_do_not_see_one_another(demo):
    Client(REMOTE_ADDR="198.41.0.4", HTTP_USER_AGENT="Mozilla/5.0 Firefox/140").get("/admin/")
    other = Client(REMOTE_ADDR="203.0.113.9")
    assert other.get(reverse("admin:logins")).status_code == 403
    assert other.get(reverse("admin:verification_auditentry_changelist")).status_code == 403


def test_one_visitors_look_ups_bind_no_other(demo, monkeypatch):
    set_limit(monkeypatch, "LOOK_UPS", 1)
    visitors = [Client(REMOTE_ADDR=each) for each in ("198.41.0.4", "198.41.0.4", "203.0.113.9")]
    found = [each.get(reverse("admin:verification_find"), {"q": season.UNLUCKY}).status_code for each in visitors]
    assert found[1] == 429 and 429 not in (found[0], found[2])
