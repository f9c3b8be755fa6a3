"""Exchanging a verify token for the address it proves."""

import pytest

from tests import clock, factories
from tests.api.calls import Api, problem, wrong_fields
from verification.models import KeyKind, VerifyToken
from verification.services.projects.keys import issue_key

pytestmark = pytest.mark.django_db

PHONE = "+4915112345678"


@pytest.fixture
def token(api, outbox):
    session_id = api.create().data["session_id"]
    return api.check(session_id, outbox.code).data["verify_token"]


@pytest.mark.requirement(40)
def test_a_token_works_once(api, token):
    assert api.verify(token).status_code == 200
    assert problem(api.verify(token)) == (410, "verify_token_expired")


def test_it_names_the_session_and_the_channel_in_headers(api, token):
    verified = api.verify(token)
    assert (verified["X-Session-Id"], verified["X-Channel"]) == (VerifyToken.objects.get().session_id, "sms")


KEY = {"Idempotency-Key": "first"}


def test_a_lost_answer_is_read_again_with_the_key_that_used_the_token_up(api, token):
    first, again = api.verify(token, headers=KEY), api.verify(token, headers=KEY)
    assert again.status_code == 200 and again.content == first.content
    assert [again[name] for name in ("X-Session-Id", "X-Channel")] == [first["X-Session-Id"], first["X-Channel"]]
    assert "Idempotency-Replayed" not in first and again["Idempotency-Replayed"] == "true"


@pytest.mark.requirement(40)
@pytest.mark.parametrize(
    ("first", "second"), [(KEY, {"Idempotency-Key": "second"}), (KEY, None), (None, KEY), (None, None)]
)
def test_without_that_key_a_used_token_is_used_up(api, token, first, second):
    assert api.verify(token, headers=first).status_code == 200
    assert problem(api.verify(token, headers=second)) == (410, "verify_token_expired")


@pytest.mark.requirement(40)
def test_an_answer_is_read_again_only_while_the_token_would_be_good(api, token):
    api.verify(token, headers=KEY)
    clock.forward(60)
    assert problem(api.verify(token, headers=KEY)) == (410, "verify_token_expired")


def test_another_project_reads_no_answer_by_the_same_key(api, client, token):
    api.verify(token, headers=KEY)
    other = factories.project()
    answer = Api(client, other.api_key, other.secret_key).verify(token, headers=KEY)
    assert problem(answer) == (404, "verify_token_not_found")


def test_a_key_may_serve_two_tokens(api, outbox, token):
    second = api.check(api.create("jane@example.com").data["session_id"], outbox.code).data["verify_token"]
    assert api.verify(token, headers=KEY).data == {"phone": PHONE}
    assert api.verify(second, headers=KEY).data == {"email": "jane@example.com"}


@pytest.mark.parametrize("key", ["", " ", "ü", "x" * 256])
def test_a_key_of_another_form_is_a_wrong_field_and_uses_nothing_up(api, token, key):
    assert wrong_fields(api.verify(token, headers={"Idempotency-Key": key})) == ["Idempotency-Key"]
    assert api.verify(token).status_code == 200


def test_the_answer_of_a_test_login_is_not_read_again_once_the_login_is_gone(api, project):
    login = project.test_login(PHONE, "424242")
    token = api.check(api.create().data["session_id"], "424242").data["verify_token"]
    assert api.verify(token, headers=KEY)["X-Test-Login"] == "true"
    assert api.verify(token, headers=KEY)["X-Test-Login"] == "true"
    login.delete()
    assert problem(api.verify(token, headers=KEY)) == (410, "verify_token_expired")


def test_a_token_works_within_60_seconds(api, token):
    clock.forward(55)
    assert api.verify(token).status_code == 200


@pytest.mark.requirement(37)
def test_a_token_is_over_after_60_seconds(api, token):
    clock.forward(60)
    assert problem(api.verify(token)) == (410, "verify_token_expired")


def test_a_token_outlives_its_session(api, outbox):
    session_id, code = api.create().data["session_id"], outbox.code
    clock.forward(170)
    token = api.check(session_id, code).data["verify_token"]
    clock.forward(30)
    assert api.verify(token).status_code == 200


def test_a_token_that_is_over_is_known_for_a_day(api, token):
    clock.forward(clock.DAY - 60)
    assert problem(api.verify(token)) == (410, "verify_token_expired")


def test_the_session_id_is_no_token(api, token):
    assert wrong_fields(api.verify(VerifyToken.objects.get().session_id)) == ["verify_token"]


def test_a_wrong_writing_does_not_use_the_token_up(api, token):
    api.verify(token.replace("-", ""))
    assert api.verify(token).status_code == 200


@pytest.mark.requirement(39)
def test_another_secret_key_of_the_project_takes_the_token(api, project, token):
    api.secret_key = issue_key(project=project.row, kind=KeyKind.SECRET).text
    assert api.verify(token).status_code == 200


@pytest.mark.requirement(39)
def test_a_disabled_project_gets_nothing_for_its_token(api, project, token):
    project.set(is_enabled=False)
    assert problem(api.verify(token)) == (401, "invalid_api_key")
