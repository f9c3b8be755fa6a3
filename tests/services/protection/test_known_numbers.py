"""Numbers that the customer's server verified: what they pass, and what holds for them as for all others."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests import factories
from tests.api.calls import problem
from verification.core import caching
from verification.core.addresses import mask, parse_address
from verification.models import Decision, GuardBlock, ListEntry, Message, Recipient, Session
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
        from tests.admin.rows import a_message

        a_message(pumped.row, recipient, status="success", error=None)
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


def asked(project, to, client_address="198.51.100.7"):
    caching.clear_all()
    policy = policy_for(load_project(project.id), parse_address(to), client_address=client_address)
    return challenges.is_required(policy)


@pytest.fixture
def suspicious(pumped):
    return pumped.set(challenge_mode="suspicion")


def test_no_challenge_is_asked_on_suspicion(suspicious):
    assert asked(suspicious, KNOWN)
    known(suspicious)
    assert not asked(suspicious, KNOWN)
    assert asked(suspicious, STRANGER)


def test_no_challenge_is_asked_while_codes_are_guessed(suspicious):
    GuardBlock.objects.update(rule="wrong_codes", subject="")
    known(suspicious)
    assert not asked(suspicious, KNOWN) and asked(suspicious, STRANGER)
    suspicious.set(guard_known_days=0)
    assert asked(suspicious, KNOWN)


def test_a_challenge_that_is_always_asked_is_asked(suspicious):
    suspicious.set(challenge_mode="always")
    known(suspicious)
    assert asked(suspicious, KNOWN)


def test_the_limit_of_one_client_address_holds(api, suspicious):
    suspicious.set(creates_per_address=1)
    known(suspicious)
    api.create("+4915212345678", headers=None)
    api.call("POST", "/session/create", {"to": STRANGER}, key=api.api_key, REMOTE_ADDR="198.51.100.7")
    assert asked(suspicious, KNOWN)


def test_the_timeline_tells_since_when(api, pumped, outbox):
    recipient = known(pumped)
    session_id = send(api, KNOWN).data["session_id"]
    assert len(outbox.messages) == 1
    told = [event.text for event in read_timeline(Session.objects.get(pk=session_id)).events]
    assert f"Allowed by the traffic guard: number verified since {recipient.known_since:%Y-%m-%d}" in told
