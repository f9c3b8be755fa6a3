"""Challenges: who is asked for one, what an answer is worth, and that it works once."""

import logging
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connections, transaction
from django.test import Client
from django.utils import timezone

from tests import clock, factories
from tests.api.calls import WRONG, Api, problem, wrong_fields
from tests.core.test_bulkhead import waiting
from tests.fakes import http_server as fake
from tests.fakes.limits import set_limit
from tests.fakes.siteverify import HOST, SECRET, SITE_KEY, Siteverify
from tests.providers.challenges.test_altcha import solve
from verification import sql
from verification.core import bulkhead, caching
from verification.core.bulkhead import Wait
from verification.models import Message, Recipient, Session, UsedChallenge, WrongCode
from verification.services.maintenance import retention
from verification.services.projects.settings import seal_secret
from verification.services.protection import challenges

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"
STRANGER = "198.41.0.4"
SECONDS = 60  # none of which passes unless something is wrong


@pytest.fixture(autouse=True)
def cheap(settings):
    settings.ALTCHA_COST = 10


@pytest.fixture
def always(project):
    return project.set(challenge_mode="always")


@pytest.fixture
def suspicious(api, project):
    """A caller who has used up the creates of their address, in a project that asks on suspicion."""
    project.set(challenge_mode="suspicion", creates_per_address=1)
    api.client.defaults["REMOTE_ADDR"] = STRANGER
    api.create("ada@example.com", send=False)
    return project


@pytest.fixture
def vendor(request, project, settings):
    """A hosted provider, always asked for."""
    name = getattr(request, "param", "turnstile")
    with Siteverify(name) as endpoint:
        settings.CHALLENGE_VERIFY_URLS = {name: endpoint.url}
        project.set(
            challenge_mode="always",
            challenge_provider=name,
            challenge_site_key=SITE_KEY,
            challenge_secret=seal_secret(project.row, "challenge_secret", SECRET),
            challenge_hosts=[HOST],
        )
        yield endpoint


def answer_of(api, project):
    return solve(api.puzzle(project.row.public_id).data)


def wrong_codes(count):
    """Leave wrong codes behind, as a stranger's guesses would."""
    recipient = Recipient.objects.get(address=PHONE)
    session = Session.objects.filter(recipient=recipient).latest("created_at")
    WrongCode.objects.bulk_create(WrongCode(session=session, recipient=recipient) for _ in range(count))


# --- asking ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement(45)
def test_without_an_answer_nothing_is_written_and_the_way_to_one_is_told(api, always):
    refused = api.create()
    assert problem(refused) == (403, "challenge_required")
    assert refused.data["provider"] == "altcha"
    assert refused.data["api_key"] == f"http://testserver/session/challenge?project={always.row.public_id}"
    assert not (Session.objects.exists() or Message.objects.exists() or Recipient.objects.exists())


def test_with_an_answer_the_code_goes_out_and_the_session_knows(api, always, outbox):
    session = api.create(challenge_token=answer_of(api, always)).data
    assert api.check(session["session_id"], outbox.code).status_code == 200
    assert Session.objects.get().is_challenged


def test_a_puzzle_of_before_a_new_secret_key_is_answered_by_its_fallbacks(api, always, settings):
    answers = [answer_of(api, always) for _ in range(2)]
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = secrets.token_urlsafe(48), [settings.SECRET_KEY]
    caching.clear_all()
    assert api.create(challenge_token=answers[0]).status_code == 200
    settings.SECRET_KEY_FALLBACKS = []
    caching.clear_all()
    assert problem(api.create(challenge_token=answers[1])) == (403, "challenge_failed")


def test_each_send_needs_an_answer_of_its_own(api, always):
    session_id = api.create(challenge_token=answer_of(api, always)).data["session_id"]
    assert problem(api.send(session_id, "voice")) == (403, "challenge_required")
    assert Message.objects.count() == 1
    assert api.send(session_id, "voice", challenge_token=answer_of(api, always)).status_code == 200


def test_a_session_that_is_not_there_is_told_before_a_challenge_is_asked(api, always):
    assert problem(api.send("01K5V9QW3M7D8N4R2T6Y0ZB1CX")) == (404, "session_not_found")


@pytest.mark.parametrize("token", ["garbage", "A" * 8192])
def test_a_wrong_answer_fails_and_nothing_is_written(api, always, token):
    assert problem(api.create(challenge_token=token)) == (403, "challenge_failed")
    assert not (Session.objects.exists() or UsedChallenge.objects.exists())


def test_a_flood_of_wrong_answers_leaves_a_line_a_second_in_the_log(api, always, caplog, monkeypatch):
    monkeypatch.setattr(challenges, "LOGGED_SECONDS", SECONDS)
    caplog.set_level(logging.INFO, logger=challenges.__name__)
    assert {api.create(challenge_token="garbage").status_code for _ in range(5)} == {403}
    assert caplog.text.count("a challenge was not passed") == 1


@pytest.mark.parametrize("token", [7, "", "A" * 8193, ["x"]])
def test_a_token_is_a_text_of_a_sensible_length(api, always, token):
    assert wrong_fields(api.create(challenge_token=token)) == ["challenge_token"]


def test_null_is_no_answer(api, always):
    assert problem(api.create(challenge_token=None)) == (403, "challenge_required")


def test_the_puzzle_of_another_project_does_not_count(api, always):
    other = factories.project(challenge_mode="always")
    assert problem(api.create(challenge_token=answer_of(api, other))) == (403, "challenge_failed")


def test_a_test_login_is_never_asked(api, always):
    always.test_login(PHONE, "424242")
    session_id = api.create().data["session_id"]
    assert api.send(session_id, "voice").status_code == 200
    assert api.settings(session_id).data["challenge"] == {"enabled": False, "api_key": None}


def test_where_challenges_are_off_an_answer_is_ignored(api):
    assert api.create(challenge_token="whatever").status_code == 200
    assert not Session.objects.get().is_challenged


def test_our_own_fall_back_is_not_asked(api, always):
    from verification.services.delivery import fallback
    from verification.services.projects.snapshot import load_project

    session_id = api.create(challenge_token=answer_of(api, always)).data["session_id"]
    config = load_project(always.id)
    config.fallback = {"sms": 30, "voice": 30}
    assert fallback.send_next_channel(config, session_id, used=["sms"]) == "voice"


# --- single use ------------------------------------------------------------------------------------------------------


def test_an_answer_works_once(api, always):
    token = answer_of(api, always)
    assert api.create(challenge_token=token).status_code == 200
    assert problem(api.create("+4915112345679", challenge_token=token)) == (403, "challenge_failed")
    assert Message.objects.count() == 1


@pytest.mark.requirement(58)
def test_an_answer_to_create_does_not_serve_send_too(api, always):
    token = answer_of(api, always)
    session_id = api.create(challenge_token=token).data["session_id"]
    assert problem(api.send(session_id, "voice", challenge_token=token)) == (403, "challenge_failed")


def test_a_refusal_after_it_uses_an_answer_up(api, always):
    always.set(sends_per_10_minutes=1)
    api.create(challenge_token=answer_of(api, always))
    clock.forward(61)
    token = answer_of(api, always)
    assert problem(api.create(challenge_token=token)) == (429, "too_many_sends")
    assert problem(api.create(challenge_token=token)) == (403, "challenge_failed")


def test_a_request_that_cannot_be_served_anyway_does_not_use_it_up(api, always):
    token = answer_of(api, always)
    assert problem(api.create(type="messenger_a", challenge_token=token)) == (409, "channel_not_available")
    assert api.create(challenge_token=token).status_code == 200


def test_a_fault_of_ours_does_not_use_it_up(api, always, monkeypatch):
    token, call_many = answer_of(api, always), sql.call_many

    @transaction.atomic
    def fail_after(row_type, function, **arguments):
        """The database goes away when all is done but committed."""
        rows = call_many(row_type, function, **arguments)
        if function == "open_session":
            raise OperationalError
        return rows

    with monkeypatch.context() as patch:
        patch.setattr(sql, "call_many", fail_after)
        assert problem(api.create(challenge_token=token)) == (503, "service_unavailable")
    assert not UsedChallenge.objects.exists()
    assert api.create(challenge_token=token).status_code == 200


@pytest.mark.requirement(58)
@pytest.mark.django_db(transaction=True)
def test_of_20_parallel_creates_with_one_answer_one_passes(api, always):
    token, start = answer_of(api, always), threading.Barrier(20)

    def create(number):
        try:
            start.wait(10)
            to = f"+49151123400{number:02d}"
            return Api(Client(), always.api_key, always.secret_key).create(to, challenge_token=token).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(20) as pool:
        statuses = sorted(pool.map(create, range(20)))
    assert statuses == [200] + [403] * 19
    assert Session.objects.count() == Message.objects.count() == UsedChallenge.objects.count() == 1


def test_used_answers_are_kept_until_they_are_over(api, always):
    api.create(challenge_token=answer_of(api, always))
    assert retention.purge()["used_challenges"] == 0
    UsedChallenge.objects.update(expires_at=timezone.now())
    assert retention.purge()["used_challenges"] == 1


# --- on suspicion ----------------------------------------------------------------------------------------------------


def test_who_is_not_suspected_is_not_asked(api, project):
    project.set(challenge_mode="suspicion")
    assert api.settings().data["challenge"] == {"enabled": False, "api_key": None}
    assert api.create().status_code == 200
    assert not Session.objects.get().is_challenged


def test_too_many_creates_of_an_address_ask_for_a_challenge_instead_of_429(api, suspicious):
    assert api.settings().data["challenge"]["enabled"] is True
    assert problem(api.create()) == (403, "challenge_required")
    assert api.create(challenge_token=answer_of(api, suspicious)).status_code == 200


def test_who_has_not_reached_the_limit_is_told_of_no_challenge(api, suspicious):
    api.client.defaults["REMOTE_ADDR"] = "198.41.0.5"
    assert api.settings().data["challenge"]["enabled"] is False


def test_with_challenges_always_the_limit_of_an_address_refuses_nobody_who_passes(api, always):
    always.set(creates_per_address=1)
    api.client.defaults["REMOTE_ADDR"] = STRANGER
    statuses = [api.create(send=False, challenge_token=answer_of(api, always)).status_code for _ in range(3)]
    assert statuses == [200, 200, 200]


def test_a_test_login_stays_bound_by_the_limit_of_its_address(api, suspicious):
    suspicious.test_login(PHONE, "424242")
    assert problem(api.create()) == (429, "rate_limited")


# --- others' wrong codes ---------------------------------------------------------------------------------------------


@pytest.fixture
def locked_out(api, project):
    """A recipient whose wrong codes of 15 minutes strangers have used up, with a session still open."""
    project.set(challenge_mode="suspicion")
    session_id = api.create().data["session_id"]
    wrong_codes(10)
    return session_id


def test_who_is_locked_out_by_others_is_asked_for_a_challenge(api, project, locked_out):
    assert problem(api.check(locked_out, WRONG)) == (429, "too_many_attempts")
    assert problem(api.create()) == (403, "challenge_required")
    assert api.create(challenge_token=answer_of(api, project)).data["session_id"] == locked_out


@pytest.mark.requirement(30)
def test_a_challenge_lets_the_owner_of_the_number_in(api, project, outbox, locked_out):
    code = outbox.code
    api.create(challenge_token=answer_of(api, project))
    assert api.check(locked_out, code).status_code == 200


def test_a_challenge_passed_at_a_send_marks_the_session_too(api, project, outbox, locked_out):
    assert problem(api.send(locked_out, "voice")) == (403, "challenge_required")
    assert api.send(locked_out, "voice", challenge_token=answer_of(api, project)).status_code == 200
    assert api.check(locked_out, outbox.code).status_code == 200


def test_the_day_binds_who_passed_a_challenge_too(api, project, locked_out):
    wrong_codes(10)
    assert problem(api.create(challenge_token=answer_of(api, project))) == (429, "too_many_attempts")


def test_a_new_code_on_every_send_needs_one_answer(api, always):
    always.set(new_code_on_send=True)
    api.create(challenge_token=answer_of(api, always))
    clock.forward(61)
    assert api.create(challenge_token=answer_of(api, always)).status_code == 200
    assert Message.objects.count() == 2


# --- hosted providers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vendor", ["turnstile", "hcaptcha", "recaptcha"], indirect=True)
def test_a_hosted_answer_works_once(api, vendor):
    assert api.create(challenge_token="good").status_code == 200
    assert problem(api.create("+4915112345679", challenge_token="good")) == (403, "challenge_failed")
    assert Message.objects.count() == 1


def test_an_address_that_brings_wrong_answers_soon_costs_the_vendor_and_us_nothing_more(api, vendor, monkeypatch):
    set_limit(monkeypatch, "FAILED_CHALLENGES", 2)
    api.client.defaults["REMOTE_ADDR"] = STRANGER
    session_id = api.create(challenge_token="good one").data["session_id"]
    for answer in (api.create(challenge_token="garbage"), api.send(session_id, "voice", challenge_token="wrong")):
        assert problem(answer) == (403, "challenge_failed")
    asked = len(vendor.asked)
    for answer in (api.create(challenge_token="good"), api.send(session_id, "voice", challenge_token="good")):
        assert problem(answer) == (429, "rate_limited")
    assert len(vendor.asked) == asked
    api.client.defaults["REMOTE_ADDR"] = "198.41.0.5"
    assert api.create(challenge_token="good two").status_code == 200


@pytest.mark.requirement(12)
def test_wrong_answers_in_one_project_hold_off_nobody_in_another(api, project, vendor, monkeypatch):
    set_limit(monkeypatch, "FAILED_CHALLENGES", 1)
    neighbour = factories.project(channels=("sms",))
    neighbour.set(
        challenge_mode="always",
        challenge_provider=vendor.vendor,
        challenge_site_key=SITE_KEY,
        challenge_secret=seal_secret(neighbour.row, "challenge_secret", SECRET),
        challenge_hosts=[HOST],
    )
    api.client.defaults["REMOTE_ADDR"] = STRANGER
    api.create(challenge_token="garbage")
    assert problem(api.create(challenge_token="good")) == (429, "rate_limited")
    other = Api(api.client, neighbour.api_key, neighbour.secret_key)
    assert other.create(challenge_token="good").status_code == 200


@pytest.mark.requirement(59)
@pytest.mark.parametrize("vendor", ["turnstile", "hcaptcha", "recaptcha"], indirect=True)
def test_the_settings_name_provider_and_site_key_and_no_secret(api, vendor):
    answer = api.settings()
    assert answer.data["challenge"] == {"enabled": True, "api_key": SITE_KEY, "provider": vendor.vendor}
    assert api.create().data["provider"] == vendor.vendor
    assert SECRET not in answer.content.decode()


@pytest.mark.requirement(59)
def test_a_vendor_that_is_away_closes_the_door(api, vendor):
    vendor.script(fake.answer(500, b""))
    assert problem(api.create(challenge_token="good")) == (503, "challenge_unavailable")
    assert not Session.objects.exists()
    assert api.create(challenge_token="good").status_code == 200


@pytest.fixture
def crowd(project, monkeypatch):
    """As many of the project's requests wait for the vendor as may."""
    monkeypatch.setattr(bulkhead, "_threads", 1)
    with waiting(project.id, Wait.CHALLENGE_VENDOR):
        yield


@pytest.mark.django_db(transaction=True)
def test_where_too_many_wait_for_the_vendor_the_next_is_told_so(api, vendor, crowd, caplog):
    refused = api.create(challenge_token="good")
    assert problem(refused) == (503, "challenge_unavailable")
    assert "too many requests are waiting for an answer already" in caplog.text
    assert not (vendor.asked or Session.objects.exists())


@pytest.mark.requirement(59)
@pytest.mark.django_db(transaction=True)
def test_whoever_asks_much_at_once_opens_no_door_that_opens_when_the_vendor_is_away(api, vendor, project, crowd):
    project.set(challenge_fails_open=True)
    refused = api.create(challenge_token="junk")
    assert problem(refused) == (503, "challenge_unavailable")
    assert not (vendor.asked or Session.objects.exists())


@pytest.mark.django_db(transaction=True)
def test_an_answer_that_nobody_asked_for_waits_for_no_vendor(api, vendor, project, crowd):
    project.set(challenge_mode="suspicion")
    assert api.create(challenge_token="good").status_code == 200
    assert not (vendor.asked or Session.objects.get().is_challenged)


def test_a_vendor_that_stays_away_is_left_alone_for_a_while(api, vendor, monkeypatch):
    """Each question to it would hold a web thread for seconds; a right answer is asked for again once it is back."""
    vendor.script(*[fake.answer(500, b"")] * challenges.FAILURES_IN_A_ROW)
    for _ in range(challenges.FAILURES_IN_A_ROW + 2):
        assert problem(api.create(challenge_token="good")) == (503, "challenge_unavailable")
    assert len(vendor.server.requests) == challenges.FAILURES_IN_A_ROW
    monkeypatch.setattr(caching, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + 6))
    assert api.create(challenge_token="good").status_code == 200


def test_or_opens_it_where_the_project_says_so_and_the_operator_hears_of_it(api, vendor, project, caplog):
    project.set(challenge_fails_open=True)
    vendor.script(fake.answer(500, b""))
    assert api.create(challenge_token="good").status_code == 200
    assert not Session.objects.get().is_challenged
    assert "turnstile is unavailable" in caplog.text and "let in unchallenged" in caplog.text


def test_open_is_open_to_those_who_bring_an_answer(api, vendor, project):
    project.set(challenge_fails_open=True)
    assert problem(api.create()) == (403, "challenge_required")
    assert problem(api.create(challenge_token="unknown")) == (403, "challenge_failed")


def test_the_limit_of_an_address_holds_while_the_vendor_is_away(api, vendor, project):
    project.set(challenge_fails_open=True, creates_per_address=1)
    api.client.defaults["REMOTE_ADDR"] = STRANGER
    vendor.script(fake.answer(500, b""), fake.answer(500, b""))
    answers = [api.create(challenge_token="good") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]


def test_a_wrong_secret_is_the_operators_to_hear_of(api, vendor, project, caplog):
    project.set(challenge_secret=seal_secret(project.row, "challenge_secret", "mistyped"))
    assert problem(api.create(challenge_token="good")) == (503, "challenge_unavailable")
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert "turnstile is misconfigured: it rejects our request" in record.getMessage()
    assert "mistyped" not in caplog.text


def test_a_secret_for_tests_is_refused_in_production(api, vendor, project, settings, caplog):
    dummy = "1x0000000000000000000000000000000AA"
    project.set(challenge_secret=seal_secret(project.row, "challenge_secret", dummy))
    settings.IS_EMBEDDED = False
    assert problem(api.create(challenge_token="good")) == (503, "challenge_unavailable")
    assert "lets everybody pass" in caplog.text
    assert vendor.asked == []


def test_a_secret_for_tests_works_on_a_developers_machine_and_is_logged(api, vendor, project, caplog):
    dummy = "1x0000000000000000000000000000000AA"
    project.set(challenge_secret=seal_secret(project.row, "challenge_secret", dummy))
    told = {"success": True, "challenge_ts": "2999-01-01T00:00:00Z", "hostname": "example.com", "action": "test"}
    vendor.script(fake.answer(200, told), fake.answer(200, told))
    for to in ("ada@example.com", "bob@example.com"):
        assert api.create(to, challenge_token="XXXX.DUMMY.TOKEN.XXXX").status_code == 200
    assert "lets everybody pass" in caplog.text


# --- handing out puzzles ---------------------------------------------------------------------------------------------


def test_a_puzzle_needs_no_key_and_is_not_stored(api, always):
    answer = api.puzzle(always.row.public_id)
    assert answer.status_code == 200
    assert set(answer.data) == {"parameters", "signature"}
    assert answer.data["parameters"]["data"] == {"project": str(always.row.public_id)}
    assert answer["Cache-Control"] == "no-store"


def test_there_is_no_puzzle_where_there_is_no_such_project(api, always, project):
    assert problem(api.puzzle("0b7d3f0e-5a3b-4c7e-9d55-0c6ff1f3a2f4")) == (404, "not_found")
    assert problem(api.puzzle(factories.project().row.public_id)) == (404, "not_found")
    project.set(is_enabled=False)
    assert problem(api.puzzle(project.row.public_id)) == (404, "not_found")


def test_there_is_no_puzzle_where_another_provider_is_asked(api, vendor, project):
    assert problem(api.puzzle(project.row.public_id)) == (404, "not_found")


@pytest.mark.parametrize("query", ["", "?project=", "?project=1", "?project=%00"])
def test_a_project_is_named_by_its_public_id(api, query):
    assert wrong_fields(api.call("GET", f"/session/challenge{query}")) == ["project"]


def test_a_puzzle_is_read_by_the_projects_origins_alone(api, always):
    always.set(origins=["https://shop.example"])
    factories.project(origins=["https://other.example"])
    public_id = always.row.public_id
    ours = api.puzzle(public_id, headers={"origin": "https://shop.example"})
    theirs = api.puzzle(public_id, headers={"origin": "https://other.example"})
    assert ours["Access-Control-Allow-Origin"] == "https://shop.example"
    assert "Access-Control-Allow-Origin" not in theirs
    assert "origin" in ours["Vary"] and "origin" in theirs["Vary"]


def test_a_flood_of_puzzles_reads_their_project_once(api, always, monkeypatch):
    load, read = challenges.load_public_project, []
    monkeypatch.setattr(challenges, "load_public_project", lambda public_id: read.append(public_id) or load(public_id))
    # As if the calls took no time.
    monkeypatch.setattr(challenges, "_puzzle_projects", caching.FreshCache(1, fresh_seconds=SECONDS))
    address = f"/session/challenge?project={always.row.public_id}"
    assert {api.call("GET", address).status_code for _ in range(5)} == {200}
    assert read == [str(always.row.public_id)]


def test_puzzles_are_limited_by_address(api, always, monkeypatch):
    set_limit(monkeypatch, "PUZZLES", 2)
    api.client.defaults["REMOTE_ADDR"] = STRANGER
    answers = [api.puzzle(always.row.public_id) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]


@pytest.mark.parametrize("method", ["POST", "OPTIONS"])
def test_a_puzzle_is_only_read(api, always, method):
    answer = api.call(method, f"/session/challenge?project={always.row.public_id}")
    assert problem(answer) == (405, "method_not_allowed")
