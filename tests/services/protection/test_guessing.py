"""The rules on guessing: what they find, whom they keep out, and whom not."""

import itertools

import pytest
from django.test import override_settings
from django.utils import timezone

from tests import clock, factories
from tests.api.calls import problem
from verification.core import caching
from verification.models import Alert, GuardBlock, Session, WrongCode
from verification.services.projects.snapshot import load_project
from verification.services.protection.challenges import is_caller_suspicious
from verification.services.protection.guard import findings

pytestmark = pytest.mark.django_db

GUESSER, OTHER = "81.2.69.9", "81.2.69.10"


@pytest.fixture
def project(db):
    return factories.project(
        channels=("email",), guess_wrong_checks=6, guess_network_recipients=3, guess_same_value_sessions=4
    )


@pytest.fixture(autouse=True)
def _behind_a_proxy():
    with override_settings(TRUSTED_PROXIES=1):
        yield


_people = itertools.count()
_codes = itertools.count()


def check(api, session_id, code, *, network=GUESSER):
    body = {"session_id": session_id, "code": code}
    return api.call(
        "POST", "/session/check", body, key=api.api_key, headers={"x-forwarded-for": network, "x-api-key": api.api_key}
    )


def guess(api, times, *, code=None, network=GUESSER):
    """One wrong code for each of so many recipients; what the last was answered."""
    for _ in range(times):
        session_id = api.create(f"user{next(_people)}@example.com").data["session_id"]
        answer = check(api, session_id, code or f"wrong{next(_codes)}", network=network)
    return answer


def running():
    findings.sweep()
    caching.clear_all()
    found = GuardBlock.objects.filter(lifted_at=None, until__gt=timezone.now())
    return {(block.rule, block.subject) for block in found}


def rules():
    return {rule for rule, _ in running()}


def suspects(project, network):
    return is_caller_suspicious(load_project(project.id), network)


def test_a_network_that_guesses_for_many_is_suspected(api, project):
    guess(api, 3)
    assert running() == set()
    guess(api, 1)
    assert running() == {("network", GUESSER)}
    assert suspects(project, GUESSER)
    assert not suspects(project, OTHER)
    assert problem(guess(api, 1)) == (400, "invalid_code")


@pytest.mark.requirement(29)
def test_from_twice_as_many_on_it_is_kept_from_checking(api, project, outbox):
    guess(api, 7)
    assert rules() == {"network", "network_refused", "wrong_codes"}
    answer = guess(api, 1)
    assert problem(answer) == (429, "rate_limited")
    assert 29 * 60 < answer.data["retry_after"] <= 30 * 60
    assert Alert.objects.filter(title=f"Code checks from {GUESSER} are refused").exists()


def test_a_refused_check_spends_no_attempt_and_others_still_check(api, outbox):
    session_id = api.create("ada@example.com").data["session_id"]
    code = outbox.code
    guess(api, 7)
    running()
    assert check(api, session_id, code).status_code == 429
    assert Session.objects.get(pk=session_id).attempts == 0
    assert check(api, session_id, code, network=OTHER).status_code == 200


def test_an_ipv6_network_is_one_guesser(api):
    for host in range(7):
        guess(api, 1, network=f"2a00:1450:4001:1::{host + 1}")
    assert ("network_refused", "2a00:1450:4001:1::/64") in running()


def test_many_tries_for_one_recipient_are_no_sweep_over_recipients(api):
    session_id = api.create("ada@example.com").data["session_id"]
    for n in range(5):
        check(api, session_id, f"wrong{n}")
    assert running() == set()


@pytest.mark.parametrize("own", ["127.0.0.1", "10.0.0.7", "81.2.70.7"])
def test_the_customers_own_servers_are_nobody(api, project, own):
    project.set(server_addresses=["81.2.70.7"], guess_wrong_checks=0)
    guess(api, 7, network=own)
    assert running() == set()


@pytest.mark.requirement(29)
def test_one_value_on_many_sessions_makes_everybody_suspicious(api, project):
    for n in range(5):
        guess(api, 1, code="123456x", network=f"81.2.69.{n}")
    assert rules() == {"same_guess"}
    assert suspects(project, OTHER)
    assert problem(guess(api, 1, network=OTHER)) == (400, "invalid_code")


def test_one_network_that_tries_one_value_is_kept_from_checking(api, project):
    project.set(guess_network_recipients=0, guess_wrong_checks=0)
    guess(api, 5, code="123456x")
    assert rules() == {"same_guess", "network_refused"}


def test_many_wrong_codes_among_few_right_ones_are_an_alarm(api, project):
    for n in range(7):
        guess(api, 1, network=f"81.2.69.{n}")
    assert running() == {("wrong_codes", "")}
    assert suspects(project, OTHER)


def test_wrong_codes_among_as_many_right_ones_are_none(api, project, outbox):
    for n in range(7):
        guess(api, 1, network=f"81.2.69.{n}")
        session_id = api.create(f"user{next(_people)}@example.com").data["session_id"]
        check(api, session_id, outbox.code, network=OTHER)
    assert running() == set()


def test_an_alarm_ends_by_itself(api, project):
    guess(api, 4)
    assert rules() == {"network"}
    clock.forward(11 * clock.MINUTE)
    assert running() == set()
    assert not suspects(project, GUESSER)


def test_a_lift_ends_it_and_starts_a_new_count(api, project):
    guess(api, 7)
    running()
    findings.lift(GuardBlock.objects.get(rule="network_refused"))
    findings.lift(GuardBlock.objects.get(rule="wrong_codes"))
    assert running() == set()
    assert problem(guess(api, 1)) == (400, "invalid_code")


def test_other_projects_are_not_touched(api, client, project):
    other = factories.project(channels=("email",))
    guess(api, 7)
    running()
    theirs = type(api)(client, other.api_key, other.secret_key)
    assert problem(guess(theirs, 1)) == (400, "invalid_code")
    assert not suspects(other, GUESSER)


def test_a_limit_of_0_switches_an_alarm_off(api, project):
    project.set(guess_wrong_checks=0, guess_network_recipients=0, guess_same_value_sessions=0)
    guess(api, 8, code="123456x")
    assert running() == set()


@pytest.mark.requirement(29)
def test_no_guess_is_kept_in_clear_and_projects_do_not_share_them(api, client, project):
    other = factories.project(channels=("email",))
    guess(api, 2, code="s3cret")
    guess(type(api)(client, other.api_key, other.secret_key), 1, code="s3cret")
    first, second, theirs = (bytes(row.guess) for row in WrongCode.objects.order_by("pk"))
    assert first == second != theirs
    assert b"s3cret" not in first
