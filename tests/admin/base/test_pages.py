"""Every registered page, seen by a superuser, an owner, a member of another project, and nobody."""

from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from tests.admin.rows import ADDRESS
from tests.factories import a_message, a_session
from verification.admin.apps import discover
from verification.admin.base.permissions import Who
from verification.admin.list_tools.columns import offered_columns
from verification.admin.traffic.messages import MessageAdmin
from verification.models import (
    Alert,
    ApiKey,
    AuditEntry,
    Channel,
    CircuitBreaker,
    DailySpend,
    Decision,
    ExchangeRate,
    KillSwitch,
    Message,
    MessageTemplate,
    Platform,
    Project,
    Provider,
    Recipient,
    Right,
    Session,
    Suppression,
    TestLogin,
    WebhookEvent,
)
from verification.services.analytics import rollups

pytestmark = pytest.mark.django_db
discover()
OPERATOR_MODELS = [ExchangeRate, KillSwitch, Platform]
MODELS = [model for model in admin.site._registry if model not in (*OPERATOR_MODELS, User)]


def url(model, page, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def is_sent_away(response):
    """Return whether it leads to the login, or to the overview as Django does for a row that is not there."""
    return response.status_code == 302 and response.url.split("?")[0] in (
        reverse("admin:login"),
        reverse("admin:index"),
    )


def test_it_has_a_row_for_every_registered_page(panel):
    assert set(panel.rows) == set(MODELS)


def test_a_row_is_named_letter_by_letter(panel):
    key = panel.rows[ApiKey]
    page = panel.as_("owner").get(url(ApiKey, "change", key.pk)).content.decode()
    assert str(key) in page and f"W{str(key)[1:]}" not in page


@pytest.mark.parametrize("model", MODELS)
def test_the_list_shows_the_owner_the_row_and_a_stranger_none(panel, model):
    row = panel.rows[model]
    link = url(model, "change", row.pk)
    for who, sees in (("root", True), ("owner", True), ("stranger", False)):
        response = panel.as_(who).get(url(model, "changelist"))
        assert response.status_code == 200
        assert (link in response.content.decode()) is sees
    assert is_sent_away(panel.as_("anonymous").get(url(model, "changelist")))


@pytest.mark.requirement(81)
@pytest.mark.parametrize("model", MODELS)
def test_the_row_opens_for_its_owner_only(panel, model):
    address = url(model, "change", panel.rows[model].pk)
    assert panel.as_("root").get(address).status_code == 200
    assert panel.as_("owner").get(address).status_code == 200
    assert is_sent_away(panel.as_("stranger").get(address))
    assert is_sent_away(panel.as_("anonymous").get(address))


@pytest.mark.parametrize("model", MODELS)
def test_the_history_of_a_row_is_in_the_audit_log(panel, model):
    row = panel.rows[model]
    address, about = url(model, "history", row.pk), f"{row._meta.label_lower}:{row.pk}"
    shown = panel.as_("owner").get(address, follow=True)
    assert shown.redirect_chain[0][0] == f"{url(AuditEntry, 'changelist')}?{urlencode({'about': about})}"
    assert {(line.object_type, line.object_id) for line in shown.context["cl"].result_list} <= {tuple(about.split(":"))}
    assert is_sent_away(panel.as_("stranger").get(address))
    assert is_sent_away(panel.as_("anonymous").get(address))


def test_the_history_tells_what_no_form_did(panel):
    provider = panel.rows[Provider]
    Provider.objects.filter(pk=provider.pk).update(priority=7)
    page = panel.as_("owner").get(url(Provider, "history", provider.pk), follow=True)
    assert [line.action for line in page.context["cl"].result_list] == ["Changed", "Created"]
    stranger = panel.as_("stranger").get(page.redirect_chain[0][0])
    assert not stranger.context["cl"].result_list


@pytest.mark.parametrize("model", [model for model in MODELS if model is not Project])  # which takes its name
def test_deleting_is_for_those_whom_the_class_allows(panel, model):
    row, deleters = panel.rows[model], admin.site._registry[model].deleters
    address = url(model, "delete", row.pk)
    refused = panel.as_("stranger").post(address, {"post": "yes"})
    assert is_sent_away(refused) or refused.status_code == 403
    assert is_sent_away(panel.as_("anonymous").post(address, {"post": "yes"}))
    assert panel.as_("owner").get(address).status_code == (200 if isinstance(deleters, Right) else 403)
    assert model.objects.filter(pk=row.pk).exists()
    response = panel.as_("root").post(address, {"post": "yes"})
    assert response.status_code == (403 if deleters is Who.NOBODY else 302)
    assert model.objects.filter(pk=row.pk).exists() is (deleters is Who.NOBODY)


@pytest.mark.parametrize("model", MODELS)
def test_adding_is_for_those_whom_the_class_allows(panel, model):
    adders = admin.site._registry[model].adders
    assert panel.as_("root").get(url(model, "add")).status_code == (403 if adders is Who.NOBODY else 200)
    assert panel.as_("owner").get(url(model, "add")).status_code == (200 if isinstance(adders, Right) else 403)
    assert is_sent_away(panel.as_("anonymous").get(url(model, "add")))


@pytest.mark.parametrize("model", OPERATOR_MODELS)
def test_the_operators_pages_are_for_superusers(panel, model):
    address = url(model, "changelist")
    assert panel.as_("root").get(address, follow=True).status_code == 200
    assert panel.as_("owner").get(address).status_code == 403
    assert is_sent_away(panel.as_("anonymous").get(address))


@pytest.mark.parametrize("page", ["changelist", "add"])
def test_accounts_are_for_superusers(panel, page):
    assert panel.as_("root").get(url(User, page)).status_code == 200
    assert panel.as_("owner").get(url(User, page)).status_code == 403


@pytest.mark.requirement(83)
def test_a_member_cannot_open_or_change_an_account(panel):
    owner = User.objects.get(username="owner")
    client = panel.as_("owner")
    assert client.get(url(User, "change", owner.pk)).status_code in (302, 403)
    assert client.post(reverse("admin:auth_user_password_change", args=(owner.pk,)), {}).status_code == 403


@pytest.mark.requirement(81)
def test_the_overview_counts_own_rows_only(panel):
    rollups.count_due()
    owner = panel.as_("owner").get(reverse("admin:index")).context["figures"]
    stranger = panel.as_("stranger").get(reverse("admin:index")).context["figures"]
    (channel,) = owner.rows
    assert (sum(hour["counts"][0] for hour in owner.table), channel.total, channel.failed) == (1, 1, 1)
    assert sum(hour["counts"][0] for hour in stranger.table) == 0
    assert (stranger.rows, stranger.failures) == ([], [])


def test_the_overview_says_what_keeps_codes_from_going_out(panel):
    Channel.objects.filter(project__in=(panel.project, panel.other), type="sms").update(daily_budget=5)
    for project in (panel.project, panel.other):
        DailySpend.objects.create(project=project, channel="sms", day=timezone.now().date(), messages=5)
        CircuitBreaker.objects.update_or_create(
            provider=project.providers.first(), defaults={"open_until": timezone.now(), "reason": f"{project} is down"}
        )
    KillSwitch.objects.get_or_create(subject="voice", defaults={"reason": "Fraud"})
    state = panel.as_("owner").get(reverse("admin:index")).context["state"]
    shown = [f"{problem.text} {problem.detail}" for problem in state.lines]
    assert any("stopped Voice call" in line for line in shown)
    assert any("message limit for SMS in Ours is reached" in line for line in shown)
    assert any("Ours is down" in line for line in shown)
    assert "Theirs" not in str(shown)


@pytest.mark.parametrize(("own", "shown"), [(None, "2 of 3"), (0, "2 of 3"), (500, "2 of 3"), (2, "2 of 2: used up")])
def test_the_channels_page_tells_the_budget_that_holds(panel, own, shown):
    """The operator's ceiling is a budget too, where an owner has set none or a larger one."""
    Platform.objects.update_or_create(pk=1, defaults={"max_daily_budget": 3})
    Channel.objects.filter(project=panel.project, type="sms").update(daily_budget=own)
    today = {"project": panel.project, "channel": "sms", "day": timezone.now().date()}
    DailySpend.objects.update_or_create(**today, defaults={"messages": 2})
    assert shown in panel.as_("owner").get(url(Channel, "changelist"), {"type__exact": "sms"}).content.decode()


def test_the_overview_sums_up_why_traffic_was_refused(panel):
    rollups.count_due()
    owner, stranger = (panel.as_(who).get(reverse("admin:index")).context["figures"] for who in ("owner", "stranger"))
    [refused] = (tile.value for tile in owner.tiles if tile.title == "Refused requests")
    assert [(line.rule, str(line.times)) for line in owner.refusals] == [("country", refused)]
    assert stranger.refusals == []


def test_a_list_that_cannot_be_searched_opens_whatever_is_asked(panel):
    assert panel.as_("owner").get(url(Alert, "changelist"), {"q": "anything"}).status_code == 200


@pytest.mark.parametrize("model", [AuditEntry, Project])
def test_a_search_of_ten_thousand_words_is_no_statement_of_as_many_conditions(panel, model):
    with CaptureQueriesContext(connection) as queries:
        found = panel.as_("owner").get(url(model, "changelist"), {"q": "ww " * 10_000})
    assert found.status_code == 200
    assert max(len(query["sql"]) for query in queries) < 20_000


def test_the_overview_shows_only_what_the_user_did(panel):
    owner = panel.as_("owner")
    owner.post(reverse("admin:verification_project_webhook_secret", args=(panel.project.pk,)), {"step": "reveal"})
    assert "Viewed the webhook secret" in owner.get(reverse("admin:index")).content.decode()
    assert "Looked at the webhook" not in panel.as_("stranger").get(reverse("admin:index")).content.decode()


def test_someone_who_is_not_staff_stays_outside(panel):
    User.objects.filter(username="owner").update(is_staff=False)
    assert is_sent_away(panel.as_("owner").get(url(Project, "changelist")))


@pytest.mark.requirement(81)
@pytest.mark.parametrize("field", ["project", "recipient", "session", "provider"])
def test_autocomplete_is_scoped_like_the_page_it_reads(panel, field):
    query = {"app_label": "verification", "model_name": "message", "field_name": field, "term": ""}
    found = panel.as_("stranger").get(reverse("admin:autocomplete"), query)
    ours = str(getattr(panel.rows[Message], f"{field}_id"))
    assert found.status_code in (200, 404)
    if found.status_code == 200:
        assert ours not in [result["id"] for result in found.json()["results"]]


def test_autocomplete_of_accounts_is_refused(panel):
    query = {"app_label": "verification", "model_name": "membership", "field_name": "user", "term": ""}
    assert panel.as_("owner").get(reverse("admin:autocomplete"), query).status_code == 403


@pytest.mark.requirement(82)
@pytest.mark.parametrize(
    ("model", "lookup"),
    [
        (Project, "keys__digest__startswith"),
        (Project, "members__password__startswith"),
        (Channel, "project__keys__digest__startswith"),
        (ApiKey, "digest__startswith"),
        (ApiKey, "created_by__password__startswith"),
        (Provider, "secrets__startswith"),
        (Provider, "hook_secret__startswith"),
        (Session, "code_digest"),
        (Session, "recipient__address__startswith"),
        (Message, "code_encrypted__isnull"),
        (Recipient, "address__startswith"),
        (TestLogin, "code_encrypted__startswith"),
        (MessageTemplate, "project__keys__digest__startswith"),
        (Suppression, "recipient__address__startswith"),
        (WebhookEvent, "message__code_encrypted__isnull"),
    ],
)
@pytest.mark.parametrize("who", ["root", "owner"])
def test_a_lookup_that_no_filter_offers_is_refused(panel, model, lookup, who):
    assert panel.as_(who).get(url(model, "changelist"), {lookup: "a"}).status_code == 400


@pytest.mark.requirement(82)
def test_a_row_cannot_be_asked_for_by_another_column(panel):
    provider = panel.rows[Provider]
    for address in (url(Provider, "changelist"), url(Provider, "change", bytes(provider.hook_secret).hex())):
        response = panel.as_("owner").get(address, {"_to_field": "hook_secret"})
        assert "Our gateway" not in response.content.decode()


def test_the_filters_themselves_work(panel):
    client = panel.as_("root")
    for query in (
        {"status": "failed"},
        {"status": "lost"},
        {"since": "day"},
        {"channel__exact": "sms"},
        {"project": panel.project.pk},
    ):
        response = client.get(url(Message, "changelist"), query)
        assert response.status_code == 200
        assert str(panel.rows[Message].pk) in response.content.decode()


@pytest.mark.parametrize(("state", "number"), [("open", 1), ("verified", 0), ("expired", 0), ("locked", 0)])
def test_sessions_are_filtered_by_their_state(panel, state, number):
    response = panel.as_("owner").get(url(Session, "changelist"), {"state": state})
    assert response.context["cl"].result_count == number


def test_the_choice_of_the_project_names_own_projects_only(panel):
    from verification.models import Membership

    owner = User.objects.get(username="owner")
    Membership.objects.create(user=owner, project=Project.objects.create(name="Second of ours"))
    page = panel.as_("owner").get(url(Message, "changelist")).content.decode()
    assert "Second of ours" in page
    assert "Theirs" not in page


def test_a_foreign_project_in_the_address_finds_nothing(panel):
    response = panel.as_("stranger").get(url(Message, "changelist"), {"project": panel.project.pk})
    assert str(panel.rows[Message].pk) not in response.content.decode()


@pytest.mark.parametrize(
    ("model", "terms"),
    [
        (Session, [ADDRESS, "+49 1511 2345678"]),
        (Message, [ADDRESS]),
        (Recipient, [ADDRESS]),
    ],
)
def test_traffic_is_found_by_the_whole_address_in_any_writing(panel, model, terms):
    for term in terms:
        assert panel.as_("owner").get(url(model, "changelist"), {"q": term}).context["cl"].result_count == 1
        assert panel.as_("stranger").get(url(model, "changelist"), {"q": term}).context["cl"].result_count == 0
    assert panel.as_("owner").get(url(model, "changelist"), {"q": ADDRESS[:8]}).context["cl"].result_count == 0


def test_traffic_is_found_by_its_id(panel):
    client, session, message = panel.as_("owner"), panel.rows[Session], panel.rows[Message]
    assert client.get(url(Session, "changelist"), {"q": session.pk}).context["cl"].result_count == 1
    assert client.get(url(Message, "changelist"), {"q": session.pk}).context["cl"].result_count == 1
    assert client.get(url(Message, "changelist"), {"q": message.pk}).context["cl"].result_count == 1


@pytest.mark.requirement(91)
@pytest.mark.parametrize("model", [Session, Message, Recipient])
def test_traffic_is_masked_and_read_only(panel, model):
    row = panel.rows[model]
    client = panel.as_("root")
    for address in (url(model, "changelist"), url(model, "change", row.pk)):
        page = client.get(address).content.decode()
        assert ADDRESS not in page
        assert "+4915******78" in page
    assert client.post(url(model, "change", row.pk), {"language": "xx"}).status_code == 403
    row.refresh_from_db()
    assert row.language != "xx"


def test_a_page_carries_the_security_policy(panel):
    policy = panel.as_("owner").get(reverse("admin:index"))["Content-Security-Policy"]
    script = next(part for part in policy.split(";") if part.strip().startswith("script-src"))
    assert "unsafe-inline" not in script


def test_what_fails_is_told_on_a_page(panel, monkeypatch, caplog):
    owner = panel.as_("owner")
    owner.raise_request_exception = False
    monkeypatch.setattr(MessageAdmin, "get_queryset", lambda *_: 1 / 0)
    for address, status, title in (
        ("/admin/nothing/", 404, "Page not found"),
        (url(User, "changelist"), 403, "have permission"),
        (url(Message, "changelist"), 500, "Something went wrong"),
    ):
        response = owner.get(address, headers={"X-Request-Id": "my-request"})
        page = response.content.decode()
        assert response.status_code == status and response["Content-Type"].startswith("text/html")
        assert title in page and reverse("admin:index") in page and "division" not in page and "&amp;#" not in page
        assert ("my-request" in page) == (status == 500)
        assert "Content-Security-Policy" in response
    [line] = [each for each in caplog.records if each.message == "a request failed"]
    assert (line.request_id, line.error) == ("my-request", "ZeroDivisionError") and "lambda *_: 1 / 0" in line.places


def test_a_form_that_was_open_too_long_is_told_on_a_page_before_login_too(db):
    browser = Client(enforce_csrf_checks=True)
    browser.get(reverse("admin:login"))
    response = browser.post(reverse("admin:login"), {"username": "owner"})
    assert response.status_code == 403
    page = response.content.decode()
    assert "reload the page and save" in page and url(Message, "changelist") not in page


@pytest.mark.parametrize(
    ("subject", "term"), [("messenger_a", "telegram"), ("messenger_a", "messenger_a"), ("KP", "KP")]
)
def test_a_decision_is_found_by_its_subject_as_it_is_shown(panel, subject, term):
    Decision.objects.update(subject=subject)
    found = panel.as_("owner").get(url(Decision, "changelist"), {"q": term})
    assert found.context["cl"].result_count == 1


@pytest.mark.parametrize("query", [{"s": "o"}, {"s": "o", "page": "abc"}, {"s": "", "extended": ""}])
def test_the_frameworks_search_which_nothing_links_to_is_not_there(panel, query):
    assert panel.as_("owner").get(reverse("admin:search"), query).status_code == 404


def test_a_list_of_channels_asks_no_more_for_more_rows(panel):
    asked = []
    for channels in ((), ("email", "voice", "messenger_a", "messenger_b")):
        Channel.objects.bulk_create(Channel(project=panel.project, type=each, daily_budget=5) for each in channels)
        with CaptureQueriesContext(connection) as queries:
            assert panel.as_("owner").get(url(Channel, "changelist")).status_code == 200
        asked.append(len(queries))
    assert asked[0] == asked[1]


@pytest.mark.parametrize("more", [{}, {"csv": "1"}])
def test_a_list_that_has_no_such_filter_leads_back_to_itself(panel, more):
    page = reverse("admin:verification_message_changelist")
    response = panel.as_("owner").get(page, {"project__name": "x", **more})
    assert response.status_code == 400
    text = response.content.decode()
    assert "This list does not have this filter." in text
    assert f'href="{page}"' in text.split("ww-empty")[1]


@pytest.mark.parametrize("model", [Message, Session])
def test_a_list_with_all_its_columns_reads_no_more_for_more_rows(panel, model):
    page = admin.site._registry[model]
    asked = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            found = panel.as_("owner").get(url(model, "changelist"), {"columns": ",".join(offered_columns(page))})
        assert set(page.more_columns) <= set(found.context["cl"].list_display)
        asked.append((found.context["cl"].result_count, len(queries)))
        for _ in range(3):
            a_message(
                panel.rows[Recipient],
                session=a_session(panel.rows[Recipient], is_open=False),
            )
    (few, before), (many, after) = asked
    assert many > few and before == after
