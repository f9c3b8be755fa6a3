"""Numbers that the customer's server verified: what they pass, and what holds for them as for all others."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests import factories
from tests.api.calls import problem
from tests.factories import a_message, a_session
from verification.core import caching
from verification.core.addresses import mask, parse_address
from verification.models import Decision, GuardBlock, ListEntry, Message, Recipient, RiskVerdict, Session
from verification.models.guard import ABOUT_CALLERS
from verification.services.analytics.timeline.read import read_timeline
from verification.services.projects.snapshot import load_project
from verification.services.protection import challenges
from verification.services.protection.recipient import policy_for

pytestmark = pytest.mark.django_db
KNOWN = "+4915112345678"
STRANGER = "+4915112345679"


@pytest.fixture
def pumped(project):
    """A project whose guard refuses the prefix of both numbers."""
    GuardBlock.objects.create(
        project=project.row,
        rule="prefix",
        subject="+491511234",
        level=1,
        since=timezone.now(),
        until=timezone.now() + timedelta(minutes=30),
        figures={"numbers": 11, "limit": 10, "minutes": 10},
    )
    return project


def known(project, to=KNOWN, *, days_ago=1, since_days=40):
    now = timezone.now()
    return Recipient.objects.create(
        project=project.row,
        address=to,
        known_at=now - timedelta(days=days_ago),
        known_since=now - timedelta(days=since_days),
    )


def send(api, to, **body):
    return api.create(to, type="sms", **body)


def test_a_redeemed_token_makes_a_number_known_and_a_right_code_alone_does_not(api, outbox):
    session_id = api.create(KNOWN).data["session_id"]
    token = api.check(session_id, outbox.code).data["verify_token"]
    assert Recipient.objects.get().known_at is None
    assert api.verify(token).status_code == 200
    recipient = Recipient.objects.get()
    assert recipient.known_at is not None and recipient.known_since == recipient.known_at


def test_a_test_logins_token_makes_nobody_known(api, project):
    project.test_login(KNOWN, "123456")
    session_id = api.create(KNOWN).data["session_id"]
    api.verify(api.check(session_id, "123456").data["verify_token"])
    assert Recipient.objects.get().known_at is None


def test_a_proof_after_a_gap_begins_anew_and_one_within_keeps_the_beginning(api, outbox, project):
    recipient = known(project, days_ago=30, since_days=200)
    since = recipient.known_since

    def prove():
        factories.expire_everything()  # or the channel's block keeps the second code back
        session_id = api.create(KNOWN).data["session_id"]
        api.verify(api.check(session_id, outbox.code).data["verify_token"])
        recipient.refresh_from_db()

    prove()
    assert recipient.known_since == since and timezone.now() - recipient.known_at < timedelta(minutes=1)
    Recipient.objects.update(known_at=timezone.now() - timedelta(days=91))
    prove()
    assert recipient.known_since == recipient.known_at


def test_a_known_number_passes_the_rule_on_prefixes_and_a_stranger_does_not(api, pumped):
    recipient = known(pumped)
    assert problem(send(api, STRANGER)) == (403, "recipient_not_allowed")
    assert send(api, KNOWN).status_code == 200
    noted = Decision.objects.get(rule="known_number")
    assert (noted.subject, noted.refused, noted.country) == (mask(KNOWN), 0, "DE")
    assert noted.figures == {"known_since": f"{recipient.known_since:%Y-%m-%d}"}


def test_a_known_number_passes_the_rule_on_countries(api, pumped):
    pumped.set(guard_country_observe_days=0)
    GuardBlock.objects.update(rule="conversion", subject="DE")
    known(pumped)
    assert problem(send(api, STRANGER)) == (403, "recipient_not_allowed")
    assert send(api, KNOWN).status_code == 200


def test_the_known_eleventh_number_makes_no_finding(api, project):
    for number in range(10):
        assert send(api, f"+4915112345{number:03}").status_code == 200
    known(project)
    assert send(api, KNOWN).status_code == 200
    assert not GuardBlock.objects.exists()
    assert problem(send(api, STRANGER)) == (403, "recipient_not_allowed")


@pytest.mark.parametrize(("days", "days_ago"), [(0, 1), (30, 31), (90, 91)])
def test_after_the_projects_days_a_number_is_a_stranger_again(api, pumped, days, days_ago):
    pumped.set(guard_known_days=days)
    known(pumped, days_ago=days_ago, since_days=200)
    assert problem(send(api, KNOWN)) == (403, "recipient_not_allowed")
    assert not Decision.objects.filter(rule="known_number").exists()


def test_another_projects_known_number_is_a_stranger_here(api, pumped):
    known(factories.project(channels=("sms",)))
    assert problem(send(api, KNOWN)) == (403, "recipient_not_allowed")


def test_ten_messages_a_day_pass_whatever_the_projects_limits_are(api, pumped):
    pumped.set(sends_per_10_minutes=0, sends_per_hour=0, sends_per_day=0)
    recipient = known(pumped)
    for _ in range(10):
        a_message(recipient, status="success", error=None)
    assert problem(send(api, KNOWN)) == (403, "recipient_not_allowed")
    Message.objects.all()[0].delete()
    assert send(api, KNOWN).status_code == 200


def test_limits_budgets_lists_and_switches_hold(api, pumped):
    known(pumped)
    ListEntry.objects.create(project=pumped.row, kind="block", subject="recipient", value=KNOWN)
    caching.clear_all()
    assert problem(send(api, KNOWN)) == (403, "recipient_not_allowed")
    ListEntry.objects.all().delete()
    pumped.channel("sms", daily_budget=0)
    pumped.set(countries=["FR"])
    assert problem(send(api, KNOWN)) == (403, "recipient_not_allowed")
    pumped.set(countries=[], sends_per_10_minutes=1)
    assert send(api, KNOWN).status_code == 200
    assert problem(api.manual_send(KNOWN, code="493817")) == (429, "too_many_sends")


def asked(project, to, client_address="198.51.100.7", *, sends=True):
    caching.clear_all()
    policy = policy_for(load_project(project.id), parse_address(to), client_address=client_address)
    return challenges.demand(policy, sends=sends)


NOBODY, UNLESS_SENT, EVERYBODY = challenges.Demand
CHALLENGED = (403, "challenge_required")


@pytest.fixture
def suspicious(pumped):
    return pumped.set(challenge_mode="suspicion")


@pytest.fixture
def spared(suspicious):
    known(suspicious)
    return suspicious


def test_a_known_number_needs_no_challenge_for_a_code_that_goes_out(api, spared):
    assert problem(send(api, STRANGER)) == CHALLENGED
    assert send(api, KNOWN).status_code == 200


def test_a_safe_listed_number_needs_none_either(api, suspicious):
    ListEntry.objects.create(project=suspicious.row, kind="safe", subject="recipient", value=KNOWN)
    assert problem(api.create(KNOWN, send=False)) == CHALLENGED
    assert send(api, KNOWN).status_code == 200


@pytest.mark.parametrize("rule", ABOUT_CALLERS)
def test_a_finding_about_the_caller_asks_everybody(api, spared, rule):
    subject = {"wrong_codes": "", "strangers": "", "same_guess": "x"}.get(rule, "198.51.100.7")
    GuardBlock.objects.update(rule=rule, subject=subject)
    assert {asked(spared, to, sends=sends) for to in (KNOWN, STRANGER) for sends in (True, False)} == {EVERYBODY}


def session_of(project, to):
    recipient, _ = Recipient.objects.get_or_create(project=project.row, address=to)
    return a_session(recipient, channel="").id


def silent_requests(api, project):
    """Return requests that send nothing, each by its name."""
    return {
        "create": lambda to: api.create(to, send=False),
        "over a channel": lambda to: api.create(to, type="sms", send=False),
        "a bot that was not started": lambda to: api.create(to, type="messenger_a"),
        "a block that still runs": lambda to: [api.create(to, type="sms"), api.create(to, type="sms")][1],
        "settings": lambda to: api.settings(session_of(project, to)),
        "a re-send to a bot": lambda to: api.send(session_of(project, to), "messenger_a"),
    }


@pytest.mark.parametrize("rule", ["prefix", "conversion"])
@pytest.mark.parametrize("request_name", silent_requests(None, None))
def test_what_sends_nothing_is_answered_alike_for_all(api, spared, request_name, rule):
    spared.provider("messenger_a", name="bot", type="collector_bot")
    GuardBlock.objects.update(rule=rule, subject={"prefix": "+491511234", "conversion": "DE"}[rule])
    ask = silent_requests(api, spared)[request_name]
    mine, strangers = ask(KNOWN), ask(STRANGER)
    assert (mine.status_code, mine.data.get("challenge")) == (strangers.status_code, strangers.data.get("challenge"))
    assert mine.data.get("code") == strangers.data.get("code")
    assert not Session.objects.filter(recipient__address=STRANGER, channel__gt="").exists()


def test_a_spent_budget_is_told_before_a_guard_that_spares(api, pumped):
    known(pumped)
    pumped.channel("sms", daily_budget=1)
    send(api, "+4915222345678")
    assert problem(send(api, KNOWN)) == problem(send(api, STRANGER)) == (429, "rate_limited")


def test_what_a_risk_check_said_of_a_number_is_told_of_no_request_that_sends_nothing(api, project):
    project.set(challenge_mode="suspicion", risk_sms=["callback"])
    checked = a_message(Recipient.objects.create(project=project.row, address=STRANGER))
    RiskVerdict.objects.create(
        project=project.row,
        recipient=checked.recipient,
        message=checked,
        check_name="callback",
        verdict="challenge",
        latency_ms=1,
    )
    assert asked(project, STRANGER) is EVERYBODY
    assert asked(project, STRANGER, sends=False) is NOBODY


def test_a_challenge_that_is_always_asked_is_asked(spared):
    spared.set(challenge_mode="always")
    assert asked(spared, KNOWN) is EVERYBODY


def test_the_limit_of_one_client_address_holds(api, suspicious):
    suspicious.set(creates_per_address=1)
    known(suspicious)
    api.create("+4915212345678", headers=None)
    api.call("POST", "/session/create", {"to": STRANGER}, key=api.api_key, REMOTE_ADDR="198.51.100.7")
    assert asked(suspicious, KNOWN) is EVERYBODY


def test_the_timeline_tells_since_when(api, pumped, outbox):
    recipient = known(pumped)
    session_id = send(api, KNOWN).data["session_id"]
    assert len(outbox.messages) == 1
    told = [event.text for event in read_timeline(Session.objects.get(pk=session_id)).events]
    assert f"Allowed by the traffic guard: number verified since {recipient.known_since:%Y-%m-%d}" in told
