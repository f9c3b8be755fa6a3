"""The traffic guard: SMS pumping is stopped, honest traffic is not."""

import itertools
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from providers.base import Outcome, Result
from tests import clock, factories
from tests.api.calls import problem
from tests.fakes.outage import lose_counts
from tests.providers.challenges.test_altcha import solve
from verification import sql
from verification.core import caching
from verification.core.addresses import parse_address
from verification.models import (
    Alert,
    Decision,
    GuardBlock,
    GuardedSend,
    GuardRule,
    HourlyFigures,
    IdempotentRequest,
    ListEntry,
    Message,
    Recipient,
)
from verification.models.guard import ABOUT_CALLERS
from verification.services.projects.snapshot import load_project
from verification.services.protection.challenges import is_caller_suspicious, is_recipient_suspicious
from verification.services.protection.guard import conversion, findings
from verification.services.protection.recipient import policy_for
from verification.services.records import decisions

pytestmark = pytest.mark.django_db

REFUSED = (403, "recipient_not_allowed")
PREFIX = "+491511234"


def number(n, prefix=PREFIX):
    return f"{prefix}{n:04d}"


def pump(api, count, *, start=0, prefix=PREFIX, **body):
    """Ask for codes to so many numbers of one prefix; what each was answered."""
    return [api.create(number(start + n, prefix), **body).status_code for n in range(count)]


def verify(api, outbox, to):
    """A whole verification, down to the proof that only the customer's server can ask for."""
    session_id = api.create(to).data["session_id"]
    return api.verify(api.check(session_id, outbox.code).data["verify_token"])


# --- who passed a challenge ------------------------------------------------------------------------------------------


@pytest.fixture
def answer(api, project, settings):
    """A function that solves a challenge; callers that are suspicious are asked for one."""
    settings.ALTCHA_COST = 10  # of the usual 5,000: what is tried here is what an answer opens
    project.set(challenge_mode="suspicion", challenge_provider="altcha")
    return lambda: solve(api.puzzle(project.row.public_id).data)


@pytest.fixture
def asking(api, answer):
    return lambda to: api.create(to, challenge_token=answer())


def test_a_passed_challenge_gets_through_a_finding_in_a_small_quota(api, asking):
    """With the API key a stranger brings the finding about; whoever is no machine still gets a code."""
    for n in range(11):
        asking(number(n))
    assert GuardBlock.objects.get().rule == "prefix"
    assert [asking(number(100 + n)).status_code for n in range(7)] == [200] * 5 + [403] * 2
    assert GuardedSend.objects.count() == 15


def a_finding(project, rule, subject, *, hours=1):
    now = timezone.now()
    row = {"rule": rule, "subject": subject, "level": 1, "figures": {}, "refused": 0}
    GuardBlock.objects.create(
        project=project.row, since=now - timedelta(seconds=1), until=now + timedelta(hours=hours), **row
    )
    caching.clear_all()


def test_pumping_with_solved_challenges_stays_bounded(api, project, asking):
    a_finding(project, "prefix", PREFIX, hours=12)
    through = []
    for step in range(4):
        answers = [asking(number(10 * step + n)).status_code for n in range(6)]
        through.append(answers.count(200))
        clock.forward(16 * 60)
    assert through == [5, 0, 5, 0]


def test_who_is_verified_leaves_the_quota_to_others(api, asking, outbox):
    for n in range(11):
        asking(number(n))
    for n in range(8):
        created = asking(number(300 + n))
        assert created.status_code == 200
        api.verify(api.check(created.data["session_id"], outbox.code).data["verify_token"])


def test_the_quota_holds_for_a_country_and_for_a_re_send(api, project, asking, answer):
    project.set(guard_country_observe_days=0)
    a_finding(project, "conversion", "DE")
    assert problem(api.create(number(0)))[0] == 403
    sessions = [asking(number(n, f"+49151123{n}")) for n in range(4)]
    assert [session.status_code for session in sessions] == [200] * 4
    clock.forward(61)
    again = [api.send(session.data["session_id"], challenge_token=answer()).status_code for session in sessions]
    assert sorted(again) == [200, 403, 403, 403]


# --- the prefix rule -------------------------------------------------------------------------------------------------


@pytest.mark.requirement(51)
def test_the_eleventh_unverified_number_of_a_prefix_is_refused(api):
    assert pump(api, 12) == [200] * 10 + [403] * 2
    assert problem(api.create(number(12))) == REFUSED
    assert Message.objects.count() == 10


def test_whoever_was_reached_before_is_refused_too(api):
    pump(api, 11)
    clock.forward(61)
    assert problem(api.create(number(0))) == REFUSED


def test_the_answer_does_not_say_which_rule(api):
    pump(api, 11)
    assert api.create(number(11)).data["detail"] == "Nothing can be sent to this recipient."


def test_nothing_of_a_refused_send_stays_but_its_count(api, project):
    pump(api, 13)
    block = GuardBlock.objects.get()
    assert (block.rule, block.subject, block.level, block.refused) == ("prefix", PREFIX, 1, 3)
    assert block.figures == {"numbers": 11, "limit": 10, "minutes": 10}
    assert not Message.objects.filter(recipient__address=number(11)).exists()


def test_other_prefixes_and_other_projects_are_unharmed(api, client):
    pump(api, 11)
    assert api.create("+4915122220000").status_code == 200
    other = factories.project()
    assert type(api)(client, other.api_key, other.secret_key).create(number(0)).status_code == 200


def test_several_sends_to_one_number_are_one_number(api):
    for _ in range(4):
        pump(api, 3)
        clock.forward(61)
    assert not GuardBlock.objects.exists()


def test_slow_traffic_passes(api):
    for n in range(12):
        assert api.create(number(n)).status_code == 200
        clock.forward(61)


def test_an_honest_burst_is_not_refused(api, outbox):
    for n in range(14):
        assert verify(api, outbox, number(n)).status_code == 200
    assert not GuardBlock.objects.exists()


@pytest.mark.requirement(53)
def test_a_check_proves_nothing(api, outbox):
    """An attacker who owns the numbers reads the codes and can check them; he has no secret key."""
    for n in range(10):
        session_id = api.create(number(n)).data["session_id"]
        assert api.check(session_id, outbox.code).status_code == 200
    assert problem(api.create(number(10))) == REFUSED


def test_a_verification_before_the_send_proves_nothing(api, outbox):
    for n in range(10):
        verify(api, outbox, number(n))
    clock.forward(181)
    assert pump(api, 11) == [200] * 10 + [403]


def test_a_message_that_never_went_out_does_not_count(api, outbox):
    outbox.answer("sms first", *[Result(Outcome.REFUSED, error="no such number")] * 5)
    pump(api, 10)
    assert len(outbox.messages) == 5
    assert GuardedSend.objects.count() == 5
    assert api.create(number(10)).status_code == 200


def test_flushing_the_cache_changes_nothing(api):
    pump(api, 10)
    lose_counts()
    assert problem(api.create(number(10))) == REFUSED
    lose_counts()
    assert problem(api.create(number(11))) == REFUSED


def test_the_figures_are_the_projects(api, project):
    project.set(guard_prefix_numbers=2)
    assert pump(api, 3) == [200, 200, 403]


def test_a_limit_of_0_switches_the_rule_off(api, project):
    project.set(guard_prefix_numbers=0)
    assert pump(api, 12) == [200] * 12


# --- what it has a say over ------------------------------------------------------------------------------------------


def test_calls_are_counted_with_sms(api):
    pump(api, 5, type="voice")
    assert pump(api, 6, start=5, type="sms") == [200] * 5 + [403]
    assert problem(api.create(number(20), type="voice")) == REFUSED


def test_without_a_wish_the_code_goes_over_a_messenger(api, project):
    project.provider("messenger_b", name="whatsapp")
    pump(api, 11, type="sms")
    assert api.create(number(11)).data["sent_to"] == "messenger_b"
    assert problem(api.create(number(12), type="sms")) == REFUSED


def test_without_a_wish_the_code_waits_for_a_bot_to_be_started(api, project):
    project.provider("messenger_a", name="bot", type="collector_bot")
    pump(api, 11, type="sms")
    created = api.create(number(11))
    assert (created.status_code, created.data["sent_to"]) == (200, None)


def test_a_new_code_for_each_send_is_refused_as_well(api, project):
    project.set(new_code_on_send=True)
    pump(api, 11)
    clock.forward(61)
    assert problem(api.create(number(0))) == REFUSED


def test_a_session_without_a_send_is_opened(api):
    pump(api, 11)
    opened = api.create(number(11), send=False)
    assert opened.status_code == 200
    assert problem(api.send(opened.data["session_id"], "sms")) == REFUSED


def test_messengers_and_e_mail_are_not_counted(api, project):
    project.provider("messenger_b", name="whatsapp")
    assert pump(api, 12, type="messenger_b") == [200] * 12
    for n in range(12):
        assert api.create(f"user{n}@example.com").status_code == 200
    assert not GuardedSend.objects.exists()


def test_test_logins_are_not_counted(api, project):
    for n in range(12):
        project.test_login(number(n), "123456")
    assert pump(api, 12) == [200] * 12


def test_the_safe_list_is_not_counted_and_not_refused(api, project):
    ListEntry.objects.create(project=project.row, kind="safe", subject="prefix", value=PREFIX)
    caching.clear_all()
    assert pump(api, 12) == [200] * 12
    assert not GuardedSend.objects.exists()


# --- modes -----------------------------------------------------------------------------------------------------------


def test_observing_notes_and_refuses_nothing(api, project):
    project.set(traffic_guard="observe")
    assert pump(api, 13) == [200] * 13
    block = GuardBlock.objects.get()
    assert (block.subject, block.refused) == (PREFIX, 3)


def test_off_neither_counts_nor_refuses(api, project):
    project.set(traffic_guard="off")
    assert pump(api, 12) == [200] * 12
    assert not GuardedSend.objects.exists()


def test_manual_sends_are_only_observed(api):
    answers = [api.manual_send(number(n)).status_code for n in range(12)]
    assert answers == [200] * 12
    assert GuardBlock.objects.get().rule == "manual_prefix"
    assert api.create(number(20)).status_code == 200  # they are not held against the sessions


def test_a_project_can_enforce_manual_sends(api, project):
    project.set(traffic_guard_manual=True)
    answers = [api.manual_send(number(n)).status_code for n in range(11)]
    assert answers == [200] * 10 + [403]
    assert problem(api.create(number(20))) == REFUSED


def test_what_a_refusal_leaves_stays_under_an_idempotency_key_too(api, project):
    project.set(traffic_guard_manual=True)
    for n in range(12):
        api.manual_send(number(n), headers={"idempotency-key": f"order-{n}"})
    block = GuardBlock.objects.get()
    assert (block.subject, block.refused) == (PREFIX, 2)
    assert IdempotentRequest.objects.count() == Message.objects.count() == 10


# --- for how long ----------------------------------------------------------------------------------------------------


def test_a_block_lasts_30_minutes(api):
    pump(api, 11)
    clock.forward(29 * clock.MINUTE)
    assert problem(api.create(number(30))) == REFUSED
    clock.forward(2 * clock.MINUTE)
    assert api.create(number(31)).status_code == 200


@pytest.mark.requirement(51)
def test_each_repeat_doubles_it_up_to_12_hours(api):
    lasted = []
    for attack in range(7):
        pump(api, 11, start=11 * attack)
        block = GuardBlock.objects.get()
        lasted.append((block.until - block.since).total_seconds() / clock.MINUTE)
        clock.forward(lasted[-1] * clock.MINUTE + 1)
    assert lasted == [30, 60, 120, 240, 480, 720, 720]


def test_after_a_quiet_day_it_starts_with_30_minutes_again(api):
    pump(api, 11)
    clock.forward(30 * clock.MINUTE + clock.DAY)
    pump(api, 11, start=20)
    assert GuardBlock.objects.get().level == 1


# --- lifting ---------------------------------------------------------------------------------------------------------


def test_a_lift_takes_effect_at_once_and_starts_a_new_count(api):
    pump(api, 11)
    block = GuardBlock.objects.get()
    assert findings.lift(block)
    assert not findings.lift(block)
    assert pump(api, 11, start=20) == [200] * 10 + [403]  # the ten before the lift are forgotten


def test_a_block_that_was_lifted_is_no_repeat(api):
    pump(api, 11)
    findings.lift(GuardBlock.objects.get())
    pump(api, 11, start=20)
    block = GuardBlock.objects.get()
    assert (block.level, block.lifted_at) == (1, None)


# --- the conversion rule ---------------------------------------------------------------------------------------------


def send_to_country(project, sends, verified, *, country="DE", age=200, life=180):
    """Sends as they stand when their sessions are over, each of another prefix."""
    now = timezone.now() - timedelta(seconds=age)
    recipients = Recipient.objects.bulk_create(
        Recipient(project=project.row, address=f"+49151{next(_addresses):08d}") for _ in range(sends)
    )
    messages = Message.objects.bulk_create(
        factories.message(recipient, created_at=now, expires_at=now + timedelta(seconds=life))
        for recipient in recipients
    )
    GuardedSend.objects.bulk_create(
        GuardedSend(
            message=message,
            project=project.row,
            recipient_id=message.recipient_id,
            prefix=recipient.address[:-4],
            country=country,
            is_manual=False,
            created_at=now,
            verified_at=now if place < verified else None,
        )
        for place, (message, recipient) in enumerate(zip(messages, recipients, strict=True))
    )


_addresses = itertools.count(10_000_019, 10_007)


def running():
    return {
        (block.rule, block.subject) for block in GuardBlock.objects.filter(lifted_at=None, until__gt=timezone.now())
    }


@pytest.mark.requirement(53)
@pytest.mark.parametrize(
    ("sends", "verified", "age", "found"),
    [
        (30, 5, 200, {("conversion", "DE")}),
        (30, 6, 200, {("low_conversion", "DE")}),  # 20 % is enough, but worth a look
        (30, 12, 200, set()),
        (29, 0, 200, set()),
        (30, 0, 170, set()),  # their codes can still be entered
        (30, 0, 3700, set()),
    ],
)
def test_a_country_that_hardly_verifies_is_found(project, sends, verified, age, found):
    project.set(guard_country_day=0)
    send_to_country(project, sends, verified, age=age)
    findings.sweep()
    assert running() == found


def test_a_country_is_judged_by_the_end_of_its_own_sessions(project):
    send_to_country(project, 30, 0, age=700, life=720)
    send_to_country(project, 30, 0, age=80, life=60, country="AT")
    findings.sweep()
    assert running() == {("conversion", "AT")}
    clock.forward(30)
    findings.sweep()
    assert running() == {("conversion", "AT"), ("conversion", "DE")}


# --- a provider that fails is no pumping ------------------------------------------------------------------------------


@pytest.fixture
def failing(project):
    """A project whose users in Germany were verified, up to 40 in an hour; its provider then delivers nothing there."""
    gateway = project.provider("sms", "Kestrel")
    HourlyFigures.objects.create(
        project=project.row, hour=timezone.now() - timedelta(days=2), channel="sms", provider_id=gateway.pk,
        country="DE", language="de", is_manual=False, sessions_verified=40,
    )  # fmt: skip
    project.gateway = gateway
    return project


def carried(project, number, *, status, known=0, age=timedelta(days=30)):
    """Unverified sends over the provider. The first of them go to numbers that were verified before."""
    before = set(GuardedSend.objects.values_list("pk", flat=True))
    send_to_country(project, number, 0)
    sends = GuardedSend.objects.exclude(pk__in=before).order_by("pk")
    Message.objects.filter(guarded_send__in=sends).update(provider=project.gateway, status=status)
    people = Recipient.objects.filter(pk__in=list(sends.values_list("recipient_id", flat=True)[:known]))
    people.update(created_at=timezone.now() - age, verified_at=timezone.now() - age)


def test_what_a_provider_that_fails_did_not_deliver_refuses_no_country(failing):
    carried(failing, 40, status="failed", known=12)
    findings.sweep()
    assert running() == {("low_conversion", "DE")}
    told = Alert.objects.get(kind="guard").detail
    assert "40 of these were not delivered, because a provider fails there." in told


def test_numbers_that_nobody_knows_do_not_whitewash_pumping(failing):
    carried(failing, 40, status="failed")
    findings.sweep()
    assert running() == {("conversion", "DE")}


def test_made_up_numbers_whitewash_nothing_while_people_who_are_known_get_their_codes(failing):
    carried(failing, 40, status="failed")
    carried(failing, 15, status="success", known=15)
    findings.sweep()
    assert running() == {("conversion", "DE")}


def test_numbers_that_were_verified_of_late_prove_no_fault_of_the_provider(failing):
    carried(failing, 40, status="failed", known=12, age=timedelta(days=1))
    findings.sweep()
    assert running() == {("conversion", "DE")}


def test_nine_people_who_are_known_are_too_few_to_prove_it(failing):
    carried(failing, 40, status="failed", known=9)
    findings.sweep()
    assert running() == {("conversion", "DE")}


def test_what_was_delivered_and_not_verified_is_pumping_beside_a_provider_that_fails(failing):
    carried(failing, 40, status="failed", known=12)
    carried(failing, 30, status="success")
    findings.sweep()
    assert running() == {("conversion", "DE")}


def test_more_sends_than_the_country_ever_had_users_are_pumping_whatever_the_receipts_say(failing):
    carried(failing, 121, status="failed", known=12)
    findings.sweep()
    assert running() == {("conversion", "DE")}


def test_another_provider_that_delivers_is_no_excuse_for_what_it_delivered(failing):
    carried(failing, 40, status="expired", known=12)
    failing.gateway = failing.provider("sms", "Northwind")
    carried(failing, 30, status="success")
    findings.sweep()
    assert running() == {("conversion", "DE")}


FAIL_FOR_ONE = """
CREATE FUNCTION fail_for_one() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.project_id = {project} THEN
        RAISE division_by_zero;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER fail_for_one BEFORE INSERT ON verification_guardblock FOR EACH ROW EXECUTE FUNCTION fail_for_one()
"""


def test_a_project_that_cannot_be_judged_is_logged_and_keeps_no_other_from_being_judged(project, caplog):
    broken = factories.project(name="Broken", channels=("sms",))
    first, second = sorted((broken, project), key=lambda each: each.id)
    with connection.cursor() as cursor:
        cursor.execute(FAIL_FOR_ONE.format(project=first.id))
    send_to_country(first, 40, 0)
    send_to_country(second, 40, 0)
    findings.sweep()
    assert [block.project_id for block in GuardBlock.objects.all()] == [second.id]
    assert f"The traffic guard could not check project {first.id} (SQLSTATE 22012)." in caplog.messages


def test_a_finding_that_cannot_be_told_keeps_no_other_from_being_told(project, caplog):
    other = factories.project(name="Other", channels=("sms",))
    send_to_country(project, 40, 0)
    send_to_country(other, 40, 0)
    sql.call_many(findings.FailedSweep, "sweep_guard")
    GuardBlock.objects.filter(project_id=project.id).update(figures={})
    findings.announce()
    assert [alert.project_id for alert in Alert.objects.filter(kind="guard")] == [other.id]
    assert not GuardBlock.objects.filter(is_announced=False).exists()
    assert any("No alert could be made" in line for line in caplog.messages)


def test_a_blocked_country_is_refused_and_others_are_not(api, project):
    project.set(guard_country_observe_days=0)
    send_to_country(project, 40, 0)
    findings.sweep()
    assert problem(api.create("+4915112345678")) == REFUSED
    assert api.create("+33612345678").status_code == 200
    assert GuardBlock.objects.get().refused == 1


def test_the_same_old_sends_block_a_country_only_once(api, project):
    send_to_country(project, 40, 0)
    findings.sweep()
    findings.lift(GuardBlock.objects.get())
    findings.sweep()
    assert running() == set()
    send_to_country(project, 30, 0, age=181)
    GuardBlock.objects.update(lifted_at=timezone.now() - timedelta(seconds=190))
    findings.sweep()
    assert running() == {("conversion", "DE")}


def test_the_end_of_a_block_is_the_start_of_a_new_count(project):
    send_to_country(project, 40, 0)
    findings.sweep()
    clock.forward(31 * clock.MINUTE)
    findings.sweep()
    assert running() == set()


def test_each_project_is_judged_by_its_own_sends(project):
    other = factories.project(traffic_guard="off")
    send_to_country(project, 20, 0)
    send_to_country(other, 40, 0)
    findings.sweep()
    assert running() == set()


def test_verify_marks_every_send_of_the_number(api, outbox):
    api.create(number(0))
    clock.forward(61)
    verify(api, outbox, number(0))
    assert GuardedSend.objects.filter(verified_at=None).count() == 0
    assert GuardedSend.objects.count() == 2


# --- what the owner hears of it --------------------------------------------------------------------------------------


def test_a_block_is_logged_and_its_owner_alerted_once(api, project):
    pump(api, 12)
    findings.sweep()
    findings.sweep()
    decision, alert = Decision.objects.get(), Alert.objects.get()
    assert (decision.rule, decision.subject, decision.figures["numbers"]) == ("prefix", f"{PREFIX}…", 11)
    assert alert.title == f"SMS and calls to {PREFIX}… are refused"
    assert alert.project == project.row


@pytest.mark.parametrize("rule", GuardRule.values)
def test_requests_know_of_the_findings_about_callers_alone(project, rule):
    now = timezone.now()
    GuardBlock.objects.create(
        project=project.row, rule=rule, subject="x", level=1, since=now, until=now + timedelta(hours=1), figures={}
    )
    known = set(load_project(project.id).findings)
    assert known == ({(rule, "x")} if rule in ABOUT_CALLERS else set())


def test_in_observe_mode_the_alert_says_so(api, project):
    project.set(traffic_guard="observe")
    pump(api, 11)
    findings.sweep()
    assert "would block" in Alert.objects.get().title


@pytest.mark.parametrize("rule", GuardRule.values)
def test_every_rule_can_be_told(project, rule):
    names = ("numbers", "limit", "minutes", "sends", "verified", "percent", "wrong", "right", "sessions", "recipients",
             "countries")  # fmt: skip
    figures = dict.fromkeys(names, 7)
    now = timezone.now()
    GuardBlock.objects.create(
        project=project.row, rule=rule, subject="", level=1, since=now, until=now + timedelta(hours=1), figures=figures
    )
    assert findings.announce() == 1
    assert decisions.RULES[rule].meaning
    assert "{" not in Alert.objects.get().detail


def test_statistics_count_sends_verifications_and_refusals(api, outbox, project):
    pump(api, 12)
    verify(api, outbox, "+33612345678")
    germany, france = conversion.by_country([project.id], hours=24)
    assert (germany.subject, germany.sends, germany.verified, germany.percent) == ("DE", 10, 0, 0)
    assert (france.subject, france.sends, france.percent) == ("FR", 1, 100)
    worst = conversion.by_prefix([project.id], hours=24)[0]
    assert (worst.subject, worst.refused) == (PREFIX, 2)


# --- suspicion -------------------------------------------------------------------------------------------------------


def wary(project, to):
    return is_recipient_suspicious(
        policy_for(load_project(project.id), parse_address(to), client_address="203.0.113.9")
    )


def test_a_number_is_suspected_from_half_of_the_limit_on(api, project):
    pump(api, 4)
    assert not wary(project, number(9))
    pump(api, 1, start=4)
    assert wary(project, number(9))
    assert not wary(project, "+4915122220000")


def test_a_number_of_a_watched_country_is_suspected(project):
    send_to_country(project, 30, 7)
    findings.sweep()
    assert wary(project, "+4915122220000")
    assert not wary(project, "+33612345678")
    assert not is_caller_suspicious(load_project(project.id), "203.0.113.9")
