"""Guessing that is spread over many recipients and client networks: how much of it is compared, and whom it harms."""

import itertools
from datetime import timedelta

import pytest
from django.test import override_settings
from django.utils import timezone

from tests import clock, factories
from tests.api.calls import problem
from verification.core.crypto import code_digest
from verification.models import Alert, Decision, GuardBlock, Recipient, Session, VerifyToken, WrongCode
from verification.services.projects.snapshot import load_project
from verification.services.protection.challenges import is_caller_suspicious
from verification.services.protection.client_networks import subnet_of
from verification.services.protection.guard import findings
from verification.services.sessions import check as tokens

pytestmark = pytest.mark.django_db

REFUSED = (429, "rate_limited")
HOME = "81.2.69.9"


@pytest.fixture
def project(db):
    return factories.project(channels=("email",))


@pytest.fixture(autouse=True)
def _behind_a_proxy():
    with override_settings(TRUSTED_PROXIES=1):
        yield


_numbers = itertools.count()


def network(number):
    """A public address, each in a subnet of its own."""
    return f"{11 + number // 65536}.{number // 256 % 256}.{number % 256}.7"


def check(api, session_id, code, *, network=HOME):
    body = {"session_id": session_id, "code": code}
    headers = {"x-forwarded-for": network, "x-api-key": api.api_key}
    return api.call("POST", "/session/check", body, headers=headers)


def open_session(api):
    return api.create(f"user{next(_numbers)}@example.com").data["session_id"]


def guess(api, times=1, *, network=HOME):
    """So many wrong codes, each for another recipient; what the last was answered."""
    for _ in range(times):
        answer = check(api, open_session(api), "wrong", network=network)
    return answer


def code_of(outbox, session_id):
    to = Session.objects.get(pk=session_id).recipient.address
    return next(message.code for message in outbox.messages if message.to == to)


def enter(api, outbox, *, network=HOME):
    """The right code of a new recipient."""
    session_id = open_session(api)
    return check(api, session_id, code_of(outbox, session_id), network=network)


def make_sessions(project, number):
    """Sessions whose codes went out, written at once."""
    recipients = Recipient.objects.bulk_create(
        Recipient(project=project.row, address=f"user{next(_numbers)}@example.com") for _ in range(number)
    )
    expires_at = timezone.now() + timedelta(hours=1)  # on however busy a machine
    rows = [
        factories.session(recipient, id=f"{next(_numbers):026d}", channel="email", expires_at=expires_at)
        for recipient in recipients
    ]
    for row in rows:
        row.code_digest = code_digest("123456", session_id=row.id)
    return [row.id for row in Session.objects.bulk_create(rows)]


def compared(project, tries):
    """Count the tries, (session, client address) each, that were compared with their code."""
    before = WrongCode.objects.count()
    config = load_project(project.id)
    for session_id, address in tries:
        with pytest.raises(Exception, match="wrong|Too many"):
            tokens.check_code(project=config, session_id=session_id, code="000000", client_address=address)
    return WrongCode.objects.count() - before


@pytest.mark.requirement(29)
def test_of_3000_wrong_codes_from_500_networks_fewer_than_1000_are_compared(project):
    sessions = make_sessions(project, 600)
    tries = [(sessions[n // 5], network(n % 500)) for n in range(3000)]
    assert compared(project, tries) < 1000


def test_nor_where_each_network_tries_all_that_it_may_at_once(project):
    sessions = make_sessions(project, 600)
    tries = [(sessions[n // 5], network(n // 6)) for n in range(3000)]
    assert compared(project, tries) < 1000


@pytest.mark.requirement(29)
def test_five_networks_are_stopped_at_once(project):
    sessions = make_sessions(project, 200)
    assert compared(project, [(sessions[n // 5], network(n % 5)) for n in range(1000)]) <= 31


def test_a_block_of_ipv6_is_one_network(project):
    sessions = make_sessions(project, 100)
    tries = [(sessions[n // 5], f"2a00:1450:4001:{n:x}::1") for n in range(500)]
    assert compared(project, tries) <= 31


@pytest.mark.requirement(29)
def test_a_refused_check_spends_nothing_and_says_how_long_to_wait(api, project, outbox):
    project.set(guess_assumed=1)
    guess(api, 3)
    session_id = open_session(api)
    answer = check(api, session_id, code_of(outbox, session_id))
    assert problem(answer) == REFUSED
    assert answer.data["retry_after"] == 300
    assert Session.objects.get(pk=session_id).attempts == 0


def test_who_comes_from_elsewhere_is_not_kept_waiting(api, project, outbox):
    project.set(guess_assumed=1)
    guess(api, 4)
    assert enter(api, outbox, network=network(1)).status_code == 200


def test_under_attack_who_mistypes_has_three_tries(api, project):
    project.set(guess_assumed=1)
    guess(api, 3, network=network(1))
    answers = [problem(guess(api, network=network(2))) for _ in range(4)]
    assert answers == [(400, "invalid_code")] * 3 + [REFUSED]


def test_under_a_heavy_attack_one_unless_they_were_right_before(api, project, outbox):
    project.set(guess_assumed=1, guess_heavy=2)
    enter(api, outbox, network=network(3))
    guess(api, 3, network=network(1))
    guess(api, network=network(2))
    guess(api, network=network(3))
    assert problem(guess(api, network=network(2))) == REFUSED
    assert problem(guess(api, network=network(3))) == (400, "invalid_code")


def test_a_mistake_that_was_put_right_is_forgotten(api, project, outbox):
    project.set(guess_assumed=1)
    guess(api, 3, network=network(1))
    for _ in range(5):
        session_id = open_session(api)
        code = code_of(outbox, session_id)
        check(api, session_id, "wrong")
        assert check(api, session_id, code).status_code == 200
    assert WrongCode.objects.filter(is_settled=True).count() == 5


def test_that_the_owner_of_a_number_verifies_elsewhere_settles_no_guess(api, outbox):
    session_id = open_session(api)
    code = code_of(outbox, session_id)
    check(api, session_id, "wrong", network=network(1))
    check(api, session_id, code)
    assert not WrongCode.objects.get().is_settled


def test_ten_right_codes_explain_a_wrong_one(api, project, outbox):
    project.set(guess_assumed=2)
    guess(api, 3)
    guess(api, network=network(2))
    for _ in range(9):
        enter(api, outbox, network=network(1))
    assert problem(guess(api)) == REFUSED
    enter(api, outbox, network=network(1))
    enter(api, outbox, network=network(1))
    assert problem(guess(api)) == REFUSED  # of the project they explain one, and there were four
    for _ in range(10):
        enter(api, outbox, network=network(1))
    assert problem(guess(api)) == (400, "invalid_code")


def rights(project, number, network):
    """Right codes of recipients of a guesser's own."""
    VerifyToken.objects.bulk_create(
        VerifyToken(
            digest=f"{next(_numbers):032d}".encode(),
            project=project.row,
            session_id=session_id,
            recipient=Session.objects.get(pk=session_id).recipient,
            subnet=subnet_of(load_project(project.id), network),
            expires_at=timezone.now() + timedelta(minutes=1),
        )
        for session_id in make_sessions(project, number)
    )


def test_right_codes_of_a_guessers_own_recipients_buy_no_guesses_without_an_end(project):
    """All from one IPv6 /48, as one subscriber has."""
    project.set(guess_assumed=10)
    rights(project, 600, "2a00:1450:4001::1")
    sessions = make_sessions(project, 100)
    assert compared(project, [(each, f"2a00:1450:4001:{n:x}::1") for n, each in enumerate(sessions)]) <= 21


def test_nor_does_a_subnet_that_verifies_much_guess_all_day(project):
    project.set(guess_assumed=10, guess_subnet_day=15)
    rights(project, 600, HOME)
    sessions = make_sessions(project, 100)
    compared(project, [(each, HOME) for each in sessions[:20]])
    clock.forward(301)
    assert compared(project, [(each, HOME) for each in sessions[20:]]) <= 5


@pytest.mark.requirement(29)
def test_right_codes_of_test_logins_explain_nothing(api, project):
    """They cost nothing: no message is sent, and a reviewer of an app may know the code."""
    project.set(guess_assumed=1, guess_heavy=2)
    project.test_login("reviewer@example.com", "123456")
    for _ in range(30):
        session_id = api.create("reviewer@example.com").data["session_id"]
        assert check(api, session_id, "123456").status_code == 200
    assert problem(guess(api)) == (400, "invalid_code")
    assert problem(guess(api, network=network(1))) == (400, "invalid_code")
    assert problem(guess(api, network=network(2))) == (400, "invalid_code")
    assert problem(guess(api)) == REFUSED


def test_without_an_attack_a_network_has_fifty_wrong_codes_a_day(api, project):
    project.set(guess_assumed=1000, guess_subnet_day=4)
    guess(api, 4)
    answer = guess(api)
    assert problem(answer) == REFUSED
    assert 23 * clock.HOUR < answer.data["retry_after"] <= clock.DAY
    clock.forward(clock.DAY)
    assert problem(guess(api)) == (400, "invalid_code")


def test_it_ends_when_the_attack_is_over(api, project):
    project.set(guess_assumed=1)
    guess(api, 3)
    assert problem(guess(api)) == REFUSED
    clock.forward(301)
    assert problem(guess(api)) == (400, "invalid_code")


def test_the_customers_own_servers_are_left_alone(api, project):
    project.set(guess_assumed=1, server_addresses=[HOME])
    assert problem(guess(api, 6)) == (400, "invalid_code")
    assert problem(guess(api, 6, network="10.1.2.3")) == (400, "invalid_code")


def test_other_projects_are_not_touched(api, client, project):
    project.set(guess_assumed=1)
    other = factories.project(channels=("email",), guess_assumed=1)
    guess(api, 4)
    assert problem(guess(type(api)(client, other.api_key, other.secret_key))) == (400, "invalid_code")


def test_0_switches_it_off(api, project):
    project.set(guess_assumed=0, guess_subnet_day=1)
    assert problem(guess(api, 6)) == (400, "invalid_code")


def test_the_owner_is_alerted_and_reads_who_was_refused(api, project):
    project.set(guess_assumed=3)
    guess(api, 6)
    findings.sweep()
    assert Alert.objects.filter(title__startswith="Someone is guessing codes from many client networks").exists()
    noted = Decision.objects.get(rule="strangers", subject="81.2.69.0/24")
    assert (noted.count, noted.figures) == (2, {"wrong": 4, "right": 0, "limit": 3})


def test_callers_of_a_project_under_attack_are_suspected(api, project):
    project.set(guess_assumed=3)
    guess(api, 4)
    findings.sweep()
    assert is_caller_suspicious(load_project(project.id), network(1))


def test_a_lift_starts_a_new_count(api, project):
    project.set(guess_assumed=3)
    guess(api, 5)
    findings.sweep()
    findings.lift(GuardBlock.objects.get(rule="strangers"))
    assert problem(guess(api)) == (400, "invalid_code")


def test_subnets_are_of_the_size_that_is_routed(project):
    config = load_project(project.id)
    subnets = [subnet_of(config, address) for address in ("81.2.69.9", "2a00:1450:4001:1::1", "::1", "")]
    assert subnets == ["81.2.69.0/24", "2a00:1450:4001::/48", "", "unknown"]


def test_the_token_of_a_right_code_says_whence_it_came(api, outbox):
    enter(api, outbox)
    assert VerifyToken.objects.get().subnet == "81.2.69.0/24"
