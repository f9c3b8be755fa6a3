"""The traffic guard: SMS pumping is stopped, honest traffic is not."""

import pytest

from providers.base import Outcome, Result
from tests import clock, factories
from tests.api.calls import problem
from verification.models import GuardBlock, GuardedSend, Message
from verification.services import limits

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


# --- the prefix rule -------------------------------------------------------------------------------------------------


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
    limits._shared_counter().limiter.storage.reset()
    assert problem(api.create(number(10))) == REFUSED
    limits._shared_counter().limiter.storage.reset()
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


# --- for how long ----------------------------------------------------------------------------------------------------


def test_a_block_lasts_30_minutes(api):
    pump(api, 11)
    clock.forward(29 * clock.MINUTE)
    assert problem(api.create(number(30))) == REFUSED
    clock.forward(2 * clock.MINUTE)
    assert api.create(number(31)).status_code == 200


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
