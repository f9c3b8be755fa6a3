"""Test projects: known outcomes there and nowhere else, and nothing that leaves the machine."""

from datetime import timedelta

import pytest
from django.core import mail
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from providers.sandbox import BOUNCE_SECONDS, LATE_SECONDS, RECEIPT_SECONDS, START_SECONDS, TABLE
from tests import factories
from tests.api.calls import Api, problem
from tests.commands.running import run
from tests.providers.challenges.test_altcha import solve
from tests.services.sessions.test_session_list_plans import FILL, most_rows
from verification.core import caching
from verification.core.errors import UserError
from verification.models import Message, Project, Provider, Session, WebhookEvent
from verification.services.delivery import receipts, simulated
from verification.services.delivery.sweep import sweep_once
from verification.services.notifications import alerts
from verification.services.projects import projects
from verification.services.projects.settings import set_settings
from verification.services.providers.accounts import add_provider, add_sandbox
from verification.services.sessions import bot_updates

pytestmark = pytest.mark.django_db

CODE = "424242"
HTTP = {"url": "https://sms.example/send"}


@pytest.fixture
def made(db):
    new = projects.create_project(name="Tests", is_sandbox=True)
    add_sandbox(new.project)
    caching.clear_all()
    return new


@pytest.fixture
def sandbox(client, made):
    return Api(client, made.api_key, made.secret_key)


def connect(project, type, *, values=None, channel="sms"):
    return add_provider(project=project, channel=channel, provider_type=type, name=type, values=values or {})


@pytest.mark.requirement(41)
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.outcome)
def test_in_a_live_project_a_recipient_of_the_sandbox_is_like_any_other(api, outbox, row):
    created = api.create(f"{row.outcome}@sandbox.example")
    assert created.status_code == 200 and len(outbox.messages) == 1
    code = outbox.messages[0].code
    assert problem(api.check(created.data["session_id"], CODE if code != CODE else "000000")) == (400, "invalid_code")
    assert api.check(created.data["session_id"], code).status_code == 200


@pytest.mark.requirement(41)
def test_a_test_project_uses_no_provider_that_sends(sandbox, made, outbox):
    factories.provider(project=None, channel="sms", type="collector", name="system", settings={"name": "system"})
    factories.provider(project=made.project, channel="sms", type="collector", name="own", settings={"name": "own"})
    Provider.objects.filter(type="sandbox").delete()
    caching.clear_all()
    sandbox.manual_send(to="+12125550100")
    sweep_once(limit=10)
    assert outbox.messages == []
    assert not Message.objects.filter(status="success").exists()


def test_a_test_project_takes_no_vendors_provider_and_no_other_the_sandbox(made, project):
    with pytest.raises(UserError, match="Use a live project"):
        connect(made.project, "http", values=HTTP)
    for other in (project.row, None):
        with pytest.raises(UserError, match="The sandbox is only for test projects"):
            connect(other, "sandbox")


@pytest.mark.requirement(41)
def test_only_the_sandboxs_recipients_are_sent_to(sandbox):
    assert problem(sandbox.create("+4915112345678")) == (403, "recipient_not_allowed")
    assert problem(sandbox.create("ada@example.com")) == (403, "recipient_not_allowed")
    assert problem(sandbox.create("+12125550199")) == (403, "recipient_not_allowed")
    assert problem(sandbox.manual_send(to="ada@example.com", channel="email")) == (403, "recipient_not_allowed")


@pytest.mark.requirement(41)
def test_a_project_with_traffic_stays_what_it_is(api, project, sandbox, made, outbox):
    api.create()
    sandbox.create("delivered@sandbox.example")
    for row, text in ((project.row, "true"), (made.project, "false")):
        with pytest.raises(UserError, match="no longer be changed"):
            set_settings(row, {"is_sandbox": text})


def test_a_project_changes_its_kind_once_its_providers_fit():
    new = projects.create_project(name="Shop").project
    provider = connect(new, "http", values=HTTP)
    with pytest.raises(UserError, match=r"Delete them on the Providers page first: http \(SMS\)\."):
        projects.set_project(project=new, values={"is_sandbox": "true"})
    provider.delete()
    projects.set_project(project=Project.objects.get(pk=new.pk), values={"is_sandbox": "true"})
    assert Project.objects.get(pk=new.pk).is_sandbox


def test_a_test_may_run_as_often_as_it_likes(sandbox):
    for _ in range(25):
        assert sandbox.manual_send(to="delivered@sandbox.example", channel="email").status_code == 200
        Message.objects.update(created_at="2020-01-01T00:00:00Z")  # only the 60 seconds of the channel are over
    assert {sandbox.manual_send(to=f"+1{area}5550100").status_code for area in (212, 310, 312, 404, 415)} == {200}


def test_the_code_is_of_the_projects_form(sandbox, made):
    projects.set_project(
        project=made.project, values={"code_length": "4", "code_letters": "true", "code_digits": "false"}
    )
    caching.clear_all()
    session = sandbox.create("delivered@sandbox.example").data["session_id"]
    assert sandbox.check(session, "ABAB").status_code == 200


def test_an_alert_of_a_test_project_is_told_on_its_page_alone(made):
    made.project.alert_emails = ["owner@example.com"]
    made.project.save()
    alerts.raise_alert(project_id=made.project.pk, kind="budget", key="today", title="Spent", detail="All of it.")
    for row in alerts.claim_due(limit=5):
        alerts.deliver(row)
    assert mail.outbox == [] and alerts.unread_count([made.project]) == 1


def test_failing_on_demand_sets_nothing_aside(sandbox):
    for number in range(30):
        sandbox.manual_send(to=f"providers-down+{number}@sandbox.example", channel="email")
    sandbox.manual_send(to="delivered@sandbox.example", channel="email")
    sweep_once(limit=100)
    assert Message.objects.get(recipient__address="delivered@sandbox.example").status == "success"


@pytest.mark.parametrize(
    ("to", "status"),
    [("providers-down", "failed"), ("refused", "failed"), ("delivered", "success"), ("provider-recovers", "sending")],
)
def test_an_inbox_beside_the_sandbox_changes_no_outcome(sandbox, made, to, status):
    add_provider(project=made.project, channel="email", provider_type="inbox", name="inbox", values={})
    caching.clear_all()
    sandbox.manual_send(to=f"{to}@sandbox.example", channel="email")
    sweep_once(limit=10)
    message = Message.objects.get()
    assert message.status == status
    assert {attempt.provider.type for attempt in message.attempts.all()} == {"sandbox"}


def test_wrong_codes_have_no_limit_for_the_recipients_of_the_sandbox_alone(sandbox, made):
    connect(made.project, "inbox", channel="email")
    Project.objects.update(wrong_codes_per_15_minutes=2)
    caching.clear_all()
    guesses = {}
    for to in ("delivered@sandbox.example", "ann@shop.example"):
        session = sandbox.create(to, type="email").data["session_id"]
        guesses[to] = [problem(sandbox.check(session, "000000"))[1] for _ in range(3)]
    assert guesses == {
        "delivered@sandbox.example": ["invalid_code"] * 3,
        "ann@shop.example": ["invalid_code", "invalid_code", "too_many_attempts"],
    }


def test_createproject_makes_a_test_project_in_one_step():
    shown = run("createproject", "Mine", "--sandbox")
    assert "This is a test project" in shown
    row = Project.objects.get(name="Mine")
    assert row.is_sandbox and Provider.objects.filter(project=row).count() == 5


def test_the_demanded_challenge_is_a_puzzle_that_can_be_solved(sandbox, made, settings):
    settings.ALTCHA_COST = 100  # iterations of a try, so that a busy machine solves it at once
    to = "challenge@sandbox.example"
    assert problem(sandbox.create(to)) == (403, "challenge_required")
    answer = solve(sandbox.puzzle(made.project.public_id).data)
    session = sandbox.create(to, challenge_token=answer).data["session_id"]
    assert sandbox.check(session, CODE).status_code == 200


def test_the_outcome_of_a_manual_send_is_called_back(sandbox):
    sandbox.manual_send(to="refused@sandbox.example", channel="email", callback_url="https://shop.example/told")
    sweep_once(limit=10)
    called = WebhookEvent.objects.get()
    assert (called.url, called.message.status) == ("https://shop.example/told", "failed")


def test_a_bot_is_started_again_for_every_session(sandbox):
    for _ in range(2):
        session = sandbox.create("+12125550107", type="messenger_a").data
        assert session["sent_to"] is None
        Session.objects.update(created_at=Now() - timedelta(seconds=START_SECONDS))
        assert simulated.report() == 1
        sweep_once(limit=10)
        assert sandbox.check(session["session_id"], CODE).status_code == 200
        Message.objects.update(created_at="2020-01-01T00:00:00Z")  # the 60 seconds of the channel are over


def test_of_the_sessions_of_the_past_none_is_read(made):
    numbers = {"mine": made.project.pk, "other": factories.project().id, "rows": 4_000}
    with connection.cursor() as cursor:
        cursor.execute(FILL.replace("'sms', '', '', false", "'', 'messenger_a', '', true"), numbers)
        bot = Provider.objects.get(project=made.project, type="sandbox_bot")
        with CaptureQueriesContext(connection) as statements:
            assert list(simulated._waiting_for(bot)) == []
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statements[-1]['sql']}")
        ((plan,),) = cursor.fetchone()
    assert most_rows(plan["Plan"]) <= 1


def test_a_report_that_fails_keeps_no_other_from_its_turn(sandbox, monkeypatch):
    for _ in range(2):
        sandbox.manual_send(to="bounced@sandbox.example", channel="email")
        Message.objects.update(created_at="2020-01-01T00:00:00Z")
    sweep_once(limit=10)
    Message.objects.filter(status="sent").update(due_at=Now() + timedelta(seconds=RECEIPT_SECONDS - BOUNCE_SECONDS - 1))
    failures, apply_receipts = iter([RuntimeError()]), receipts.apply_receipts

    def apply_or_fail(*given):
        for failure in failures:
            raise failure
        apply_receipts(*given)

    monkeypatch.setattr(receipts, "apply_receipts", apply_or_fail)
    assert simulated.report() == 1
    assert sorted(Message.objects.values_list("status", flat=True)) == ["failed", "sent"]
    assert simulated.report() == 1


def test_a_bot_that_fails_to_start_keeps_no_other_from_its_turn(sandbox, monkeypatch):
    for number in ("+12125550107", "+13105550107"):
        sandbox.create(number, type="messenger_a")
    Session.objects.update(created_at=Now() - timedelta(seconds=START_SECONDS))
    failures, store = iter([RuntimeError()]), bot_updates.store

    def store_or_fail(*given, **named):
        for failure in failures:
            raise failure
        store(*given, **named)

    monkeypatch.setattr(bot_updates, "store", store_or_fail)
    assert simulated.report() == 1


def test_receipts_come_when_they_are_due_and_one_never(sandbox):
    for outcome in ("bounced", "delivered-late", "never-delivered"):
        sandbox.manual_send(to=f"{outcome}@sandbox.example", channel="email")
    sweep_once(limit=10)

    def statuses(seconds):
        Message.objects.filter(status="sent").update(due_at=Now() + timedelta(seconds=RECEIPT_SECONDS - seconds))
        simulated.report()
        sweep_once(limit=10)
        return list(Message.objects.order_by("recipient__address").values_list("status", flat=True))

    assert statuses(0.5) == ["sent", "sent", "sent"]
    assert statuses(BOUNCE_SECONDS + 1) == ["failed", "sent", "sent"]
    assert statuses(LATE_SECONDS + 1) == ["failed", "success", "sent"]
    assert statuses(RECEIPT_SECONDS + 1) == ["failed", "success", "expired"]
