"""Checking the code that a user entered."""

import secrets
import uuid

import psycopg
import pytest
from django.db import connection

from tests import clock
from tests.api.calls import WRONG, problem, wrong_fields
from verification.core import caching
from verification.core.crypto import stored_digest
from verification.models import Session, VerifyToken, WrongCode

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"
UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def session_id(api):
    return api.create().data["session_id"]


def attempts():
    return Session.objects.values_list("attempts", flat=True).get()


# --- after a change of SECRET_KEY -------------------------------------------------------------------------------------


@pytest.fixture
def new_secret_key(settings):
    """Another SECRET_KEY, with or without the one before among its fallbacks."""

    def use(*, fallbacks):
        settings.SECRET_KEY_FALLBACKS = [*fallbacks, settings.SECRET_KEY] if fallbacks is not None else []
        settings.SECRET_KEY = secrets.token_urlsafe(48)
        caching.clear_all()

    yield use
    caching.clear_all()


@pytest.mark.parametrize("fallbacks", [[], [secrets.token_urlsafe(48)]])
def test_a_code_of_before_a_new_secret_key_matches_by_its_fallbacks(api, outbox, session_id, new_secret_key, fallbacks):
    new_secret_key(fallbacks=fallbacks)
    assert api.check(session_id, WRONG).data["attempts_left"] == 4
    assert api.check(session_id, outbox.code).status_code == 200


def test_without_the_fallback_it_does_not(api, outbox, session_id, new_secret_key):
    new_secret_key(fallbacks=None)
    assert api.check(session_id, outbox.code).data["code"] == "invalid_code"


# --- a right code ----------------------------------------------------------------------------------------------------


def test_a_verify_token_is_a_random_uuid_in_its_usual_writing(api, outbox, session_id):
    token = api.check(session_id, outbox.code).data["verify_token"]
    assert uuid.UUID(token).version == 4
    assert str(uuid.UUID(token)) == token


@pytest.mark.requirement(37)
def test_of_the_token_only_a_digest_is_kept(api, outbox, session_id):
    token = api.check(session_id, outbox.code).data["verify_token"]
    assert bytes(VerifyToken.objects.get().digest) == stored_digest(token, kind="verify token")


def test_a_token_lives_60_seconds(api, outbox, session_id):
    api.check(session_id, outbox.code)
    token = VerifyToken.objects.get()
    assert (token.expires_at - token.created_at).total_seconds() == 60


UNSEEN = [" ", "\n", "\r\n", "\t", "\u2028", "\u00a0", "\u200b", "\u200e", "\u2066", "\ufeff", "\u00ad"]
DASHES = ["-", "\u2010", "\u2011", "\u2013", "\u2014", "\uff0d"]


@pytest.mark.requirement(32)
@pytest.mark.parametrize("char", [*UNSEEN, *DASHES])
def test_what_is_unseen_or_a_dash_is_ignored_wherever_it_stands(api, outbox, session_id, char):
    assert api.check(session_id, char + char.join(outbox.code) + char).status_code == 200


@pytest.mark.requirement(32)
@pytest.mark.parametrize("zero", ["\u0660", "\u0966", "\u0ae6", "\u1040", "\uff10", "\U0001d7ce"])
def test_digits_of_another_script_are_digits(api, outbox, session_id, zero):
    typed = "".join(chr(ord(zero) + int(digit)) for digit in outbox.code)
    assert api.check(session_id, typed).status_code == 200


def test_letters_may_be_written_small(api, outbox, project):
    project.set(code_digits=False, code_letters=True)
    session_id = api.create().data["session_id"]
    assert api.check(session_id, outbox.code.lower()).status_code == 200


def test_the_last_attempt_may_be_the_right_one(api, outbox, session_id):
    for _ in range(4):
        api.check(session_id, WRONG)
    assert api.check(session_id, outbox.code).status_code == 200


def test_the_code_of_the_first_send_holds_after_the_second(api, outbox, session_id):
    code = outbox.code
    api.send(session_id, "voice")
    assert api.check(session_id, code).status_code == 200


def test_the_code_is_forgotten_once_it_was_used(api, outbox, session_id):
    api.check(session_id, outbox.code)
    assert Session.objects.get().code_encrypted is None


# --- a wrong code ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement(28)
def test_after_five_wrong_codes_the_session_is_locked(api, outbox, session_id):
    code = outbox.code
    for _ in range(5):
        api.check(session_id, WRONG)
    refused = api.check(session_id, code)
    assert problem(refused) == (429, "too_many_attempts")
    assert "Retry-After" not in refused and "retry_after" not in refused.data


def test_a_code_of_four_is_locked_after_three(api, outbox, project):
    project.set(code_length=4)
    session_id = api.create().data["session_id"]
    code = outbox.code
    assert [api.check(session_id, WRONG).data["attempts_left"] for _ in range(3)] == [2, 1, 0]
    assert problem(api.check(session_id, code)) == (429, "too_many_attempts")


@pytest.mark.parametrize(
    "guess",
    ["x", "x" * 32, "1234567", "12345", "-12345", "1e5", "\u06f1" * 7, "ſſſſſſ", "\x7f", "²", "+", "😀"],
)
def test_any_string_of_1_to_32_characters_spends_an_attempt(api, session_id, guess):
    refused = api.check(session_id, guess)
    assert problem(refused) == (400, "invalid_code")
    assert refused.data["attempts_left"] == 4


@pytest.mark.parametrize("guess", ["", " ", "-", "\n\t", "\u200b\ufeff\u2013", " " * 33])
def test_a_code_of_which_nothing_is_left_spends_none(api, session_id, guess):
    assert wrong_fields(api.check(session_id, guess)) == ["code"]
    assert attempts() == 0


@pytest.mark.parametrize("guess", ["+{}", "{}.0", "0{}", "{}\x7f", "{}\ufe0f", "#{}"])
def test_nothing_else_is_taken_off_the_right_code(api, outbox, session_id, guess):
    assert problem(api.check(session_id, guess.format(outbox.code))) == (400, "invalid_code")


@pytest.mark.requirement(31)
def test_leading_zeros_are_part_of_the_code(api, project):
    project.test_login(PHONE, "012345")
    session_id = api.create().data["session_id"]
    assert problem(api.check(session_id, "12345")) == (400, "invalid_code")
    assert api.check(session_id, "012345").status_code == 200


@pytest.mark.requirement(34)
def test_a_code_that_never_went_out_is_wrong(api, project):
    project.test_login(PHONE, "424242")
    session_id = api.create(send=False).data["session_id"]
    refused = api.check(session_id, "424242")
    assert problem(refused) == (400, "invalid_code")
    assert refused.data["attempts_left"] == 4


@pytest.mark.requirement(22)
def test_the_code_of_another_session_is_wrong(api, outbox, session_id):
    other = api.create("+4915112345679").data["session_id"]
    first, second = (message.code for message in outbox.messages)
    assert first == second or problem(api.check(other, first)) == (400, "invalid_code")
    assert api.check(other, second).status_code == 200


def test_sending_again_gives_no_attempt_back(api, session_id):
    api.check(session_id, WRONG)
    api.send(session_id, "voice")
    assert api.check(session_id, WRONG).data["attempts_left"] == 3


def test_creating_again_gives_no_attempt_back(api, session_id):
    api.check(session_id, WRONG)
    api.create(type="voice")
    assert api.check(session_id, WRONG).data["attempts_left"] == 3


@pytest.mark.requirement(27)
@pytest.mark.django_db(transaction=True)
def test_the_count_is_committed_before_the_answer(api, session_id):
    api.check(session_id, WRONG)
    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}) as other:
        assert other.execute("SELECT attempts FROM verification_session").fetchall() == [(1,)]


# --- sessions that are not open --------------------------------------------------------------------------------------


@pytest.mark.requirement(22)
def test_a_code_can_be_used_once(api, outbox, session_id):
    api.check(session_id, outbox.code)
    assert problem(api.check(session_id, outbox.code)) == (409, "session_verified")
    assert VerifyToken.objects.count() == 1


@pytest.mark.requirement(21)
def test_the_right_code_comes_too_late_after_180_seconds(api, outbox, session_id):
    code = outbox.code
    clock.forward(180)
    assert problem(api.check(session_id, code)) == (410, "session_expired")


def test_the_right_code_is_in_time_before_180_seconds(api, outbox, session_id):
    code = outbox.code
    clock.forward(175)
    assert api.check(session_id, code).status_code == 200


def test_a_locked_session_that_expired_is_expired(api, session_id):
    for _ in range(5):
        api.check(session_id, WRONG)
    clock.forward(180)
    assert problem(api.check(session_id, WRONG)) == (410, "session_expired")


@pytest.mark.requirement(34)
def test_a_session_that_is_over_spends_nothing(api, session_id):
    clock.forward(180)
    api.check(session_id, WRONG)
    assert (attempts(), WrongCode.objects.count()) == (0, 0)
