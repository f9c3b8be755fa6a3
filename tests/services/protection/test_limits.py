"""Limits on sends and guesses, counted from rows, and on requests by second and address, counted in the cache."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connections
from django.db.models import F
from django.test import Client
from django.utils import timezone

from providers.base import Outcome, Result
from tests import clock, factories
from tests.api.calls import WRONG, Api, problem
from tests.fakes.outage import cache_away, lose_counts
from verification.api.serializers.errors import LIMITS
from verification.models import DailySpend, Message, Recipient, Session, WrongCode
from verification.services.delivery import dispatch, sweep
from verification.services.protection import limits

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"
OTHER = "+4915112345679"
STRANGER = "198.41.0.4"  # a public address
MINUTES_10, MINUTES_15, HOUR, DAY = 600, 900, 3600, 86400


@pytest.fixture
def recipient(api):
    api.create(send=False)
    return Recipient.objects.get()


def sent(recipient, *ages):
    """Messages that went to the recipient so many seconds ago."""
    now = timezone.now()
    for age in ages:
        at = now - timedelta(seconds=age)
        factories.a_message(recipient, created_at=at, status="success", error="", finished_at=at)


def guessed(recipient, *ages):
    """Wrong codes that were entered for the recipient so many seconds ago, in a session of the past."""
    now = timezone.now()
    session = recipient.sessions.first()
    for age in ages:
        WrongCode.objects.create(session=session, recipient=recipient, created_at=now - timedelta(seconds=age))


def spread(count, oldest):
    """``count`` ages, a second apart, from ``oldest`` down."""
    return [oldest - step for step in range(count)]


# --- sends to a recipient --------------------------------------------------------------------------------------------


@pytest.mark.requirement(56)
@pytest.mark.parametrize(
    ("ages", "wait"),
    [
        pytest.param([499.1, 400, 300, 200, 100], 101, id="5 in 10 minutes"),
        pytest.param([0.1] * 5, MINUTES_10, id="5 just now"),
        pytest.param(spread(10, 2000.1), 1600, id="10 in an hour"),
        pytest.param(spread(20, 80000.1), 6400, id="20 in a day"),
        pytest.param([*spread(5, 3500.1), *spread(5, 700.1)], 100, id="10 in an hour, the oldest soon over"),
        pytest.param([*spread(19, 7000.1), 599.5], DAY - 7000, id="the longest wait counts"),
    ],
)
def test_at_a_limit_the_wait_is_told_to_the_second(api, recipient, ages, wait):
    sent(recipient, *ages)
    refused = api.manual_send()
    assert problem(refused) == (429, "too_many_sends")
    assert (refused.data["retry_after"], refused["Retry-After"]) == (wait, str(wait))


@pytest.mark.parametrize(
    "ages",
    [
        pytest.param([500, 400, 300, 200], id="4 in 10 minutes"),
        pytest.param([600, 500, 400, 300, 200], id="5 in more than 10 minutes"),
        pytest.param(spread(9, 2000), id="9 in an hour"),
        pytest.param([3600, *spread(9, 2000)], id="10 in more than an hour"),
        pytest.param([DAY, *spread(19, 80000)], id="20 in more than a day"),
    ],
)
def test_below_the_limits_it_is_sent(api, recipient, ages):
    sent(recipient, *ages)
    assert api.manual_send().status_code == 200


@pytest.mark.requirement(48)
def test_sessions_and_manual_sends_count_together(api, project):
    project.set(sends_per_10_minutes=3)
    api.create()
    api.manual_send()
    api.create(type="voice")
    assert problem(api.manual_send(channel="voice")) == (429, "too_many_sends")


@pytest.mark.parametrize(
    ("field", "oldest"), [("sends_per_10_minutes", 500), ("sends_per_hour", 3500), ("sends_per_day", 80000)]
)
def test_each_number_is_the_projects_own_and_0_switches_it_off(api, project, recipient, field, oldest):
    everything_off = {"sends_per_10_minutes": 0, "sends_per_hour": 0, "sends_per_day": 0}
    sent(recipient, *spread(30, oldest))
    project.set(**everything_off)
    assert api.manual_send().status_code == 200
    project.set(**{**everything_off, field: 32})
    assert api.manual_send().status_code == 200
    assert problem(api.manual_send()) == (429, "too_many_sends")


def test_a_lowered_number_holds_at_once_and_tells_its_own_wait(api, project, recipient):
    sent(recipient, 400, 300, 200.1, 100)
    project.set(sends_per_10_minutes=2)
    assert api.manual_send().data["retry_after"] == 400


def test_the_limit_is_the_recipients_own(api, recipient):
    sent(recipient, *[10] * 5)
    assert api.manual_send().status_code == 429
    assert api.manual_send(OTHER).status_code == 200


@pytest.mark.requirement(28)
def test_every_writing_of_the_number_has_one_limit(api, recipient):
    sent(recipient, *[10] * 5)
    assert problem(api.manual_send("+49 (0)151 1234-5678")) == (429, "too_many_sends")


MAILBOXES = {
    "mike@example.com": ["mike+a@example.com", "mike+b+c@example.com"],
    "mike.miller@gmail.com": ["mikemiller@gmail.com", "mike.miller+a@gmail.com", "m.i.k.e.miller+b@googlemail.com"],
}


@pytest.mark.requirement(64)
@pytest.mark.parametrize(("mailbox", "also"), [(mailbox, also) for mailbox in MAILBOXES for also in MAILBOXES[mailbox]])
def test_the_addresses_of_one_mailbox_share_their_limit(api, project, mailbox, also):
    project.set(sends_per_10_minutes=2)
    assert api.manual_send(mailbox, channel="email").status_code == 200
    assert api.manual_send(also, channel="email").status_code == 200
    for address in (mailbox, also, also.replace("+", "+z")):
        assert problem(api.manual_send(address, channel="email")) == (429, "too_many_sends")


@pytest.mark.parametrize("other", ["mi.ke@example.com", "mike@example.net", "ike@example.com", "mike@notgmail.com"])
def test_other_mailboxes_have_limits_of_their_own(api, project, other):
    project.set(sends_per_10_minutes=1)
    assert api.manual_send("mike@example.com", channel="email").status_code == 200
    assert api.manual_send("mike@gmail.com", channel="email").status_code == 200
    assert api.manual_send(other, channel="email").status_code == 200


def test_the_addresses_of_one_mailbox_stay_different_people(api, project):
    api.manual_send("mike@example.com", channel="email")
    api.manual_send("mike+a@example.com", channel="email")
    assert Recipient.objects.count() == 2


def test_a_mailbox_has_limits_of_its_own_in_each_project(api, client, project):
    project.set(sends_per_10_minutes=1)
    other = factories.project(channels=("email",))
    assert api.manual_send("mike@example.com", channel="email").status_code == 200
    there = Api(client, other.api_key, other.secret_key)
    assert there.manual_send("mike+a@example.com", channel="email").status_code == 200


def test_a_message_that_nobody_took_does_not_count(api, outbox, project):
    project.set(sends_per_10_minutes=1)
    outbox.answer("sms first", Result(Outcome.REFUSED, error="No such number."))
    api.manual_send()
    assert outbox.messages == []
    assert api.manual_send().status_code == 200


def test_a_message_of_unknown_outcome_counts(api, outbox, project):
    project.set(sends_per_10_minutes=1)
    outbox.answer("sms first", Result(Outcome.UNKNOWN, error="No answer."))
    api.manual_send()
    assert len(outbox.messages) == 1
    assert problem(api.manual_send()) == (429, "too_many_sends")


@pytest.mark.requirement(48)
def test_losing_the_cache_changes_no_send_limit(api, recipient):
    sent(recipient, *[10] * 5)
    lose_counts()
    assert problem(api.manual_send()) == (429, "too_many_sends")


# --- wrong codes of a recipient --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ages", "wait"),
    [
        pytest.param(spread(10, 799.1), 101, id="10 in 15 minutes"),
        pytest.param([0.1] * 10, MINUTES_15, id="10 just now"),
        pytest.param(spread(20, 80000.1), 6400, id="20 in a day"),
        pytest.param([*spread(10, 5000.1), *spread(10, 500.1)], DAY - 5000, id="the longer wait counts"),
    ],
)
def test_with_the_wrong_codes_used_up_the_wait_is_told_to_the_second(api, recipient, ages, wait):
    guessed(recipient, *ages)
    refused = api.create()
    assert problem(refused) == (429, "too_many_attempts")
    assert (refused.data["retry_after"], refused["Retry-After"]) == (wait, str(wait))


@pytest.mark.parametrize(
    "ages",
    [
        pytest.param(spread(9, 800), id="9 in 15 minutes"),
        pytest.param([900, *spread(9, 800)], id="10 in more than 15 minutes"),
        pytest.param([DAY, *spread(19, 80000)], id="20 in more than a day"),
    ],
)
def test_below_the_limits_a_code_can_be_asked_for_and_checked(api, outbox, recipient, ages):
    guessed(recipient, *ages)
    session_id = api.create().data["session_id"]
    assert api.check(session_id, outbox.code).status_code == 200


def test_with_the_wrong_codes_used_up_even_the_right_one_is_refused(api, outbox, recipient):
    session_id = api.create().data["session_id"]
    code = outbox.code
    guessed(recipient, *spread(10, 100.1))
    refused = api.check(session_id, code)
    assert problem(refused) == (429, "too_many_attempts")
    assert refused["Retry-After"] == "800"
    assert Session.objects.get().attempts == 0


def test_with_the_wrong_codes_used_up_nothing_is_sent_again(api, outbox, recipient):
    session_id = api.create().data["session_id"]
    guessed(recipient, *spread(10, 100.1))
    assert api.send(session_id, "voice").data["retry_after"] == 800
    assert len(outbox.messages) == 1


def test_two_locked_sessions_use_the_budget_of_15_minutes_up(api):
    for channel in ("sms", "voice"):
        session_id = api.create(type=channel).data["session_id"]
        assert [api.check(session_id, WRONG).status_code for _ in range(5)] == [400] * 5
    assert problem(api.create("+49 151 12345678")) == (429, "too_many_attempts")
    assert WrongCode.objects.count() == 10


@pytest.mark.requirement(17)
@pytest.mark.parametrize(("ages", "wait"), [(spread(5, 100.1), 800), (spread(10, 80000.1), 6400)])
def test_for_codes_of_four_the_numbers_are_halved(api, project, recipient, ages, wait):
    clock.forward(181)
    project.set(code_length=4)
    guessed(recipient, *ages)
    assert api.create().data["retry_after"] == wait
    project.set(code_length=6)
    assert api.create().status_code == 200


def test_an_odd_number_is_halved_in_favour_of_the_user(api, project, recipient):
    clock.forward(181)
    project.set(code_length=4, wrong_codes_per_15_minutes=3)
    guessed(recipient, 10)
    assert api.create().status_code == 200
    guessed(recipient, 10)
    assert problem(api.create()) == (429, "too_many_attempts")


@pytest.mark.parametrize(("field", "oldest"), [("wrong_codes_per_15_minutes", 800), ("wrong_codes_per_day", 80000)])
def test_each_number_of_wrong_codes_is_the_projects_own_and_0_switches_it_off(api, project, recipient, field, oldest):
    everything_off = {"wrong_codes_per_15_minutes": 0, "wrong_codes_per_day": 0}
    guessed(recipient, *spread(30, oldest))
    project.set(**everything_off)
    assert api.create(send=False).status_code == 200
    project.set(**{**everything_off, field: 31})
    assert api.create(send=False).status_code == 200
    project.set(**{**everything_off, field: 30})
    assert problem(api.create(send=False)) == (429, "too_many_attempts")


def test_the_recipients_own_success_takes_the_wrong_codes_back(api, outbox, recipient):
    guessed(recipient, *spread(9, 100))
    api.check(api.create().data["session_id"], outbox.code)
    session_id = api.create(type="voice").data["session_id"]
    assert api.check(session_id, WRONG).data["attempts_left"] == 4


@pytest.mark.requirement(28)
def test_the_success_of_another_recipient_takes_nothing_back(api, outbox, recipient):
    guessed(recipient, *spread(10, 100))
    api.check(api.create(OTHER).data["session_id"], outbox.code)
    assert problem(api.create()) == (429, "too_many_attempts")


@pytest.mark.requirement(28)
def test_a_new_session_takes_nothing_back(api, recipient):
    guessed(recipient, *spread(9, 100))
    clock.forward(181)
    session_id = api.create().data["session_id"]
    assert api.check(session_id, WRONG).data["attempts_left"] == 4
    assert problem(api.check(session_id, WRONG)) == (429, "too_many_attempts")


@pytest.mark.requirement(30)
def test_a_session_that_passed_a_challenge_is_bound_by_the_day_alone(api, outbox, recipient):
    session_id = api.create().data["session_id"]
    code = outbox.code
    guessed(recipient, *spread(10, 100))
    Session.objects.update(is_challenged=True)
    assert api.check(session_id, code).status_code == 200


def test_the_day_binds_a_session_that_passed_a_challenge_too(api, outbox, recipient):
    session_id = api.create().data["session_id"]
    code = outbox.code
    guessed(recipient, *spread(20, 1000.1))
    Session.objects.update(is_challenged=True)
    assert api.check(session_id, code).data["retry_after"] == DAY - 1000


def test_the_wrong_codes_of_another_recipient_do_not_matter(api, recipient):
    guessed(recipient, *spread(20, 100))
    assert api.create(OTHER).status_code == 200


# --- a channel's budget of the day -----------------------------------------------------------------------------------


def spent(channel="sms"):
    return DailySpend.objects.values_list("messages", flat=True).get(channel=channel)


def numbers():
    return (f"+49151123400{number:02d}" for number in range(100))


def test_a_budget_is_a_hard_stop(api, project):
    project.channel("sms", daily_budget=2)
    answers = [api.manual_send(to) for to, _ in zip(numbers(), range(3), strict=False)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert problem(answers[2]) == (429, "rate_limited")
    assert spent() == 2


def test_every_limit_that_callers_are_told_of_has_its_words():
    named = {each.name for each in vars(limits).values() if isinstance(each, limits.Limit)}
    assert named - {"look_ups", "visits"} <= {name for name, _ in LIMITS}  # those are of pages


def test_a_used_up_budget_is_named_with_the_channels_that_are_left(api, project):
    project.channel("voice", daily_budget=0)
    project.channel("sms", daily_budget=1)
    for to, _ in zip(numbers(), range(2), strict=False):
        answer = api.manual_send(to)
    told = answer.json()
    assert (told["limit"], told["channels"]) == ("daily_budget", ["voice"]) and 0 < told["retry_after"] <= 86_400


def use_up(project, channel="sms"):
    """The channel's budget of today."""
    project.channel(channel, daily_budget=1)
    DailySpend.objects.create(project=project.row, channel=channel, day=datetime.now(UTC).date(), messages=1)


def test_the_wait_is_until_midnight_in_utc(api, project):
    use_up(project)
    now = datetime.now(UTC)
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    assert abs(api.manual_send().data["retry_after"] - (midnight - now).total_seconds()) < 60


def test_a_session_spends_and_obeys_the_budget(api, project):
    project.channel("sms", daily_budget=1)
    api.create()
    assert problem(api.create(OTHER)) == (429, "rate_limited")
    assert Session.objects.count() == 1


def test_sending_again_obeys_the_budget(api, project):
    use_up(project, "voice")
    session_id = api.create().data["session_id"]
    assert problem(api.send(session_id, "voice")) == (429, "rate_limited")
    assert Message.objects.count() == 1


def test_a_budget_is_the_channels_own(api, project):
    use_up(project)
    assert api.manual_send(channel="voice").status_code == 200


def test_without_a_budget_nothing_is_counted(api, project):
    project.channel("sms", daily_budget=0)  # which is no limit
    api.manual_send()
    api.manual_send(to="ann@example.com", channel="email")
    assert not DailySpend.objects.exists()


@pytest.mark.requirement(54)
@pytest.mark.parametrize("channel", ["sms", "voice"])
def test_what_costs_money_has_a_budget_of_1000_until_the_owner_sets_another(api, project, channel):
    DailySpend.objects.create(project=project.row, channel=channel, day=datetime.now(UTC).date(), messages=999)
    assert api.manual_send(channel=channel).status_code == 200
    assert problem(api.manual_send(channel=channel)) == (429, "rate_limited")
    project.channel(channel, daily_budget=0)
    assert api.manual_send(channel=channel).status_code == 200
    assert spent(channel) == 1000


def test_the_next_day_has_its_own_budget(api, project):
    project.channel("sms", daily_budget=1)
    api.manual_send()
    DailySpend.objects.update(day=datetime.now(UTC).date() - timedelta(days=1))
    assert api.manual_send().status_code == 200


def test_a_test_login_spends_nothing(api, project):
    use_up(project)
    project.test_login(PHONE, "424242")
    assert api.create().status_code == 200
    assert api.manual_send().status_code == 200


def test_a_message_that_was_refused_for_another_reason_spends_nothing(api, project):
    project.set(sends_per_10_minutes=1)
    project.channel("sms", daily_budget=10)
    api.manual_send()
    api.manual_send()
    assert spent() == 1


def test_a_message_that_nobody_took_is_given_back(api, outbox, project):
    project.channel("sms", daily_budget=1)
    outbox.answer("sms first", Result(Outcome.REFUSED, error="No such number."))
    api.manual_send()
    assert outbox.messages == []
    assert spent() == 0
    assert api.manual_send().status_code == 200


def test_a_message_that_came_too_late_is_given_back(api, project):
    project.channel("sms", daily_budget=1)
    api.manual_send()
    clock.forward(601)
    assert sweep.expire_messages() == 1
    assert list(DailySpend.objects.values_list("messages", flat=True)) == [0]


def test_a_message_of_unknown_outcome_is_not_given_back(api, outbox, project):
    project.channel("sms", daily_budget=1)
    outbox.answer("sms first", Result(Outcome.UNKNOWN, error="No answer."))
    api.manual_send()
    assert len(outbox.messages) == 1
    clock.forward(1300)
    sweep.expire_messages()
    assert spent() == 1


def statuses_at_once(project, recipients, **fields):
    """Make manual sends to all of them at the same moment, and return the answers' statuses."""
    start = threading.Barrier(len(recipients))

    def send(to):
        try:
            start.wait(10)
            return Api(Client(), project.api_key, project.secret_key).manual_send(to, **fields).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(recipients)) as pool:
        return sorted(pool.map(send, recipients))


@pytest.mark.django_db(transaction=True)
def test_a_budget_is_never_overshot(project):
    project.channel("sms", daily_budget=3)
    assert statuses_at_once(project, list(numbers())[:8]) == [200] * 3 + [429] * 5


@pytest.mark.requirement(64)
@pytest.mark.django_db(transaction=True)
def test_a_mailbox_is_never_sent_more_than_its_limit(project):
    project.set(sends_per_10_minutes=3)
    addresses = [f"mike+{number}@example.com" for number in range(8)]
    assert statuses_at_once(project, addresses, channel="email") == [200] * 3 + [429] * 5


# --- a project's requests in a second --------------------------------------------------------------------------------


def test_creates_and_manual_sends_of_a_second_count_together(api, project, long_second):
    project.set(requests_per_second=2)
    answers = [api.create(send=False), api.manual_send(), api.create(send=False)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert problem(answers[2]) == (429, "rate_limited")
    assert int(answers[2]["Retry-After"]) >= 1


def test_a_request_over_the_limit_of_a_second_writes_nothing(api, project, long_second):
    project.set(requests_per_second=1)
    api.create()
    api.manual_send()
    assert Message.objects.count() == 1


def test_other_requests_do_not_count_in_the_second(api, project):
    session_id = api.create().data["session_id"]
    project.set(requests_per_second=1)
    assert {api.check(session_id, WRONG).status_code for _ in range(3)} == {400}
    assert {api.channels(session_id).status_code for _ in range(3)} == {200}


def test_0_switches_the_limit_of_a_second_off(api, project):
    project.set(requests_per_second=0)
    assert {api.create(send=False).status_code for _ in range(5)} == {200}


# --- creates from an address -----------------------------------------------------------------------------------------


def create_from(api, address, **headers):
    api.client.defaults["REMOTE_ADDR"] = address
    return api.create(send=False, headers=headers)


@pytest.mark.requirement(45, 49)
def test_creates_from_one_address_are_limited(api, project):
    project.set(creates_per_address=2)
    answers = [create_from(api, STRANGER) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert problem(answers[2]) == (429, "rate_limited")
    assert 1 <= answers[2].data["retry_after"] <= 600
    assert "server addresses" in answers[2].data["detail"]


def test_who_is_over_the_limit_is_refused_without_asking_the_cache(api, project):
    project.set(creates_per_address=1)
    refused = [create_from(api, STRANGER) for _ in range(2)][1]
    lose_counts()
    again = create_from(api, STRANGER)
    assert problem(again) == (429, "rate_limited")
    assert again.data["retry_after"] <= refused.data["retry_after"]
    project.set(creates_per_address=2)
    assert create_from(api, STRANGER).status_code == 200


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.1.2.3", "192.168.1.1", "fd00::1", "::ffff:10.0.0.1"])
def test_loopback_and_private_addresses_are_left_alone(api, project, address):
    project.set(creates_per_address=1)
    assert {create_from(api, address).status_code for _ in range(3)} == {200}


@pytest.mark.requirement(49)
@pytest.mark.parametrize(
    "address",
    [
        "2001:0:c633:6401::1",
        "2001:20::1",
        "2002:c633:6401::1",
        "64:ff9b:1::1",
        "198.18.0.1",
        "240.0.0.1",
        "::ffff:198.18.0.1",
        "203.0.113.1",
    ],
)
def test_what_is_no_private_network_is_no_neighbour(api, project, address):
    """Each is private to some release of Python."""
    project.set(creates_per_address=1)
    assert [create_from(api, address).status_code for _ in range(2)] == [200, 429]


@pytest.mark.requirement(49)
@pytest.mark.parametrize(
    ("listed", "address"),
    [(STRANGER, STRANGER), ("2001:500:2::c", "2001:500:2:0:0:0:0:C"), (STRANGER, "::ffff:198.41.0.4")],
)
def test_the_projects_own_servers_are_left_alone(api, project, listed, address):
    project.set(creates_per_address=1, server_addresses=[listed])
    assert {create_from(api, address).status_code for _ in range(3)} == {200}


@pytest.mark.requirement(49)
@pytest.mark.parametrize(
    ("first", "second", "is_one_caller"),
    [
        (STRANGER, "198.41.0.5", False),
        (STRANGER, "::ffff:198.41.0.4", True),
        ("2001:500:2::1", "2001:500:2::2", True),
        ("2001:500:2::1", "2001:500:2:0:ffff:ffff:ffff:ffff", True),
        ("2001:500:2::1", "2001:500:2:1::1", False),
    ],
)
def test_a_caller_is_an_address_or_a_network_of_64_bits(api, project, first, second, is_one_caller):
    project.set(creates_per_address=1)
    create_from(api, first)
    assert create_from(api, second).status_code == (429 if is_one_caller else 200)


def test_0_switches_the_limit_of_an_address_off(api, project):
    project.set(creates_per_address=0)
    assert {create_from(api, STRANGER).status_code for _ in range(5)} == {200}


def test_the_limit_of_an_address_is_the_projects_own(api, project):
    project.set(creates_per_address=1)
    create_from(api, STRANGER)
    other = factories.project(creates_per_address=1)
    assert create_from(Api(api.client, other.api_key, other.secret_key), STRANGER).status_code == 200


def test_a_forwarded_address_counts_for_nothing_without_trusted_proxies(api, project):
    project.set(creates_per_address=1)
    create_from(api, STRANGER, **{"x-forwarded-for": "198.41.0.5"})
    assert create_from(api, STRANGER, **{"x-forwarded-for": "198.41.0.6"}).status_code == 429


def test_behind_a_trusted_proxy_the_address_it_saw_counts(api, project, settings):
    settings.TRUSTED_PROXIES = 1
    project.set(creates_per_address=1)
    assert create_from(api, "10.0.0.1", **{"x-forwarded-for": "198.41.0.5"}).status_code == 200
    assert create_from(api, "10.0.0.1", **{"x-forwarded-for": "198.41.0.6"}).status_code == 200
    assert create_from(api, "10.0.0.1", **{"x-forwarded-for": "198.41.0.5"}).status_code == 429


@pytest.mark.requirement(105)
def test_behind_a_trusted_proxy_what_the_caller_wrote_before_it_counts_for_nothing(api, project, settings):
    settings.TRUSTED_PROXIES = 1
    project.set(creates_per_address=1)
    create_from(api, "10.0.0.1", **{"x-forwarded-for": "127.0.0.1, 198.41.0.5"})
    refused = create_from(api, "10.0.0.1", **{"x-forwarded-for": "8.8.8.8, 198.41.0.5"})
    assert problem(refused) == (429, "rate_limited")


@pytest.mark.requirement(105)
@pytest.mark.parametrize("written", ["", "garbage", "unknown", "_hidden", "198.41.0.300", "[198.41.0.5", "8.8.8.8, "])
def test_callers_without_a_readable_address_share_one_limit(api, project, settings, written):
    """The proxy's own address, a neighbour's, would free them of it."""
    settings.TRUSTED_PROXIES = 1
    project.set(creates_per_address=1)
    assert create_from(api, "10.0.0.1", **{"x-forwarded-for": written}).status_code == 200
    assert create_from(api, "10.0.0.1", **{"x-forwarded-for": "other garbage"}).status_code == 429
    assert create_from(api, "10.0.0.1", **{"x-forwarded-for": "198.41.0.5"}).status_code == 200


@pytest.mark.parametrize("written", ["198.41.0.5:4711", "198.41.0.5:", " 198.41.0.5 ", "::ffff:198.41.0.5"])
def test_an_address_may_be_written_with_its_port(api, project, settings, written):
    settings.TRUSTED_PROXIES = 1
    project.set(creates_per_address=1)
    create_from(api, "10.0.0.1", **{"x-forwarded-for": "198.41.0.5"})
    assert create_from(api, "10.0.0.1", **{"x-forwarded-for": written}).status_code == 429


@pytest.mark.parametrize("written", ["[2001:500:2::2]", "[2001:500:2::2]:443", "2001:500:2::2"])
def test_an_address_of_ipv6_may_stand_in_brackets(api, project, settings, written):
    settings.TRUSTED_PROXIES = 1
    project.set(creates_per_address=1)
    create_from(api, "10.0.0.1", **{"x-forwarded-for": "2001:500:2::1"})
    assert create_from(api, "10.0.0.1", **{"x-forwarded-for": written}).status_code == 429


def test_who_passed_fewer_proxies_than_there_are_is_still_told_apart(api, project, settings):
    """One that reaches the second proxy without the first, whose own address is a neighbour's."""
    settings.TRUSTED_PROXIES = 2
    project.set(creates_per_address=1)
    assert create_from(api, "10.0.0.1", **{"x-forwarded-for": "198.41.0.5"}).status_code == 200
    assert create_from(api, "10.0.0.1", **{"x-forwarded-for": "198.41.0.6"}).status_code == 200
    assert create_from(api, "10.0.0.1", **{"x-forwarded-for": "198.41.0.5"}).status_code == 429


# --- the cache is away -----------------------------------------------------------------------------------------------


def test_with_the_cache_away_the_service_answers(api, settings):
    with cache_away(settings):
        assert api.create().status_code == 200
        assert api.manual_send(OTHER).status_code == 200


def test_with_the_cache_away_each_process_counts_for_itself(api, project, settings):
    project.set(creates_per_address=2)
    with cache_away(settings):
        statuses = [create_from(api, STRANGER).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


@pytest.mark.requirement(107)
def test_with_the_cache_away_the_limits_of_a_recipient_hold(api, recipient, settings):
    sent(recipient, *[10] * 5)
    with cache_away(settings):
        assert problem(api.manual_send()) == (429, "too_many_sends")


@pytest.mark.requirement(54)
def test_what_a_worker_died_with_is_not_given_back(api, project):
    """It may have been sent, though nobody came to note it before its time was over."""
    project.channel("sms", daily_budget=1)
    api.manual_send()
    assert dispatch.claim_due(limit=1, idle_seconds=0)
    clock.forward(601)
    assert sweep.expire_messages() == 1
    message = Message.objects.get()
    assert (message.status, message.is_counted) == ("sent", True)
    assert list(DailySpend.objects.values_list("messages", flat=True)) == [1]


@pytest.mark.requirement(54)
def test_a_budget_gets_back_only_what_was_taken_from_it(api, project):
    email = {"to": "ann@example.com", "channel": "email"}
    assert api.manual_send(**email).status_code == 200  # while the channel has no budget
    project.channel("email", daily_budget=2)
    assert api.manual_send(**email).status_code == 200
    first = Message.objects.order_by("created_at").first()
    Message.objects.filter(pk=first.pk).update(expires_at=F("created_at") + timedelta(milliseconds=1))
    assert sweep.expire_messages() == 1
    assert spent("email") == 1
