"""Idempotency-Key: the same request twice has one effect and one answer."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import connection, connections
from django.test import Client

from tests import clock
from tests.api.calls import Api, problem, wrong_fields
from verification.core import caching
from verification.core.crypto import decrypt, encrypt
from verification.models import IdempotentRequest, KeyKind, Message, Provider
from verification.services.projects.keys import issue_key

pytestmark = pytest.mark.django_db

KEY = {"idempotency-key": "order-1"}


def test_the_same_request_has_one_effect_and_one_answer(api, outbox):
    first = api.manual_send(code="0042", headers=KEY)
    second = api.manual_send(code="0042", headers=KEY)
    assert second.status_code == 200
    assert second.content == first.content
    assert len(outbox.messages) == 1


def test_an_answer_that_is_given_again_says_so(api):
    told = [api.manual_send(headers=KEY).headers.get("Idempotency-Replayed") for _ in range(2)]
    assert told == [None, "true"]


def test_a_drawn_code_comes_back_in_the_same_envelope(api):
    assert api.manual_send(headers=KEY).data["code"] == api.manual_send(headers=KEY).data["code"]


def test_another_key_is_another_request(api):
    first = api.manual_send(headers=KEY)
    second = api.manual_send(headers={"idempotency-key": "order-2"})
    assert first.data["message_id"] != second.data["message_id"]


def test_without_a_key_every_request_has_its_effect(api):
    assert api.manual_send().data["message_id"] != api.manual_send().data["message_id"]


@pytest.mark.parametrize("key", ["!", "x" * 255, "a:b/c~d", "00000000-0000-0000-0000-000000000000"])
def test_a_key_is_up_to_255_visible_characters(api, key):
    headers = {"idempotency-key": key}
    assert api.manual_send(headers=headers).data == api.manual_send(headers=headers).data


def test_keys_differ_by_their_capitals(api):
    first, second = (api.manual_send(headers={"idempotency-key": key}) for key in ("a", "A"))
    assert first.data["message_id"] != second.data["message_id"]


# --- bodies ----------------------------------------------------------------------------------------------------------


def post(api, raw, headers=KEY):
    return api.call("POST", "/manual/send", raw=raw, key=api.secret_key, headers=headers)


def test_bodies_are_compared_as_what_they_say(api):
    first = post(api, '{"to": "+4915112345678", "channel": "sms"}')
    second = post(api, '{ "channel":"\\u0073ms",\n "to":"+4915112345678" }')
    assert (second.status_code, second.data) == (200, first.data)


@pytest.mark.requirement(108)
@pytest.mark.parametrize(
    "other",
    [
        {"to": "+4915112345679", "channel": "sms", "code": "0042"},
        {"to": "+4915112345678", "channel": "voice", "code": "0042"},
        {"to": "+4915112345678", "channel": "sms", "code": "0043"},
        {"to": "+4915112345678", "channel": "sms"},
        {"to": "+49 15112345678", "channel": "sms", "code": "0042"},
        {"to": "+4915112345678", "channel": "sms", "code": "0042", "x": 1},
    ],
)
def test_another_body_under_the_same_key_is_a_conflict(api, other):
    api.manual_send(code="0042", headers=KEY)
    refused = api.call("POST", "/manual/send", other, key=api.secret_key, headers=KEY)
    assert problem(refused) == (409, "idempotency_conflict")
    assert "Retry-After" not in refused.headers
    assert Message.objects.count() == 1


def test_another_secret_key_under_the_same_key_is_a_conflict(api, project):
    api.manual_send(headers=KEY)
    api.secret_key = issue_key(project=project.row, kind=KeyKind.SECRET).text
    assert problem(api.manual_send(headers=KEY)) == (409, "idempotency_conflict")
    assert Message.objects.count() == 1


# --- what is kept ----------------------------------------------------------------------------------------------------


def test_a_refusal_is_not_kept(api, project):
    project.set(sends_per_10_minutes=1)
    api.manual_send()
    assert problem(api.manual_send(headers=KEY)) == (429, "too_many_sends")
    project.set(sends_per_10_minutes=0)
    assert api.manual_send(headers=KEY).status_code == 200


def test_a_wrong_field_takes_no_key(api):
    assert api.manual_send(code="1", headers=KEY).status_code == 400
    assert api.manual_send(code="1234", headers=KEY).status_code == 200


def test_an_answer_is_kept_for_24_hours(api):
    first = api.manual_send(headers=KEY)
    clock.forward(clock.DAY - 60)
    assert api.manual_send(headers=KEY).data == first.data


def test_after_24_hours_the_key_is_free(api):
    first = api.manual_send(headers=KEY)
    clock.forward(clock.DAY + 1)
    second = api.manual_send(code="0042", headers=KEY)
    assert second.status_code == 200
    assert second.data["message_id"] != first.data["message_id"]


def test_the_kept_answer_counts_in_no_limit(api, project):
    project.set(sends_per_10_minutes=1, requests_per_second=1)
    assert [api.manual_send(headers=KEY).status_code for _ in range(4)] == [200] * 4


@pytest.mark.requirement(108)
def test_the_kept_answer_holds_no_plain_code(api):
    api.manual_send(code="918273", headers=KEY)
    assert "918273" not in str(IdempotentRequest.objects.values().get())


def test_the_kept_answer_is_encrypted_for_its_own_row(api):
    sent = api.manual_send(headers=KEY).data
    row = IdempotentRequest.objects.get()
    sealed = bytes(row.answer_encrypted)
    assert sent["code"].encode() not in sealed
    assert json.loads(decrypt(sealed, binding=f"project:{row.project_id}:idempotent:order-1")) == sent


def test_an_answer_that_no_key_opens_is_told_and_nothing_is_sent_twice(api, outbox):
    api.manual_send(headers=KEY)
    IdempotentRequest.objects.update(answer_encrypted=encrypt("{}", binding="elsewhere"))
    assert problem(api.manual_send(headers=KEY)) == (409, "idempotency_conflict")
    assert len(outbox.messages) == 1


@pytest.fixture
def secret_keys(settings):
    def use(secret_key, *fallbacks):
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = secret_key, fallbacks
        caching.clear_all()

    return use


def test_the_digest_of_a_body_is_keyed(api, secret_keys):
    api.manual_send(code="918273", headers=KEY)
    before = bytes(IdempotentRequest.objects.get().body_digest)
    secret_keys("another secret key")
    api.manual_send(code="918273", headers={"idempotency-key": "order-2"})
    assert bytes(IdempotentRequest.objects.get(key="order-2").body_digest) != before


def test_a_fallback_of_the_secret_key_tells_the_same_body_again(api, settings, secret_keys):
    before = settings.SECRET_KEY
    first = api.manual_send(headers=KEY)
    secret_keys("another secret key", before)
    assert api.manual_send(headers=KEY).data == first.data
    secret_keys("another secret key")
    assert problem(api.manual_send(headers=KEY)) == (409, "idempotency_conflict")


def test_other_endpoints_do_not_look_at_it(api):
    first = api.create(headers=KEY).data
    second = api.create("+4915112345679", headers=KEY)
    assert second.status_code == 200
    assert second.data["session_id"] != first["session_id"]


# --- at the same time ------------------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("headers", [{}, KEY], ids=["without a key", "with a key"])
def test_a_provider_that_was_just_deleted_is_a_wrong_field(api, project, headers):
    second = project.provider("sms", name="second")
    assert api.manual_send(provider_id=second.pk).status_code == 200  # this process knows it for up to a second more
    Provider.objects.filter(pk=second.pk).delete()
    answer = api.manual_send(provider_id=second.pk, headers=headers)
    assert wrong_fields(answer) == ["provider_id"]
    assert Message.objects.count() == 1 and not IdempotentRequest.objects.exists()


@pytest.mark.requirement(108)
@pytest.mark.django_db(transaction=True)
def test_of_parallel_requests_one_executes_and_all_get_its_answer(api, project):
    start = threading.Barrier(6)

    def send(_):
        try:
            start.wait(10)
            return Api(Client(), project.api_key, project.secret_key).manual_send(headers=KEY)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(send, range(6)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.data["message_id"] for answer in answers}) == 1
    assert Message.objects.count() == 1


def other_connection():
    return psycopg.connect(**connection.get_connection_params() | {"cursor_factory": psycopg.Cursor})


@pytest.mark.django_db(transaction=True)
def test_a_request_whose_first_one_does_not_end_is_a_conflict(api, project):
    with other_connection() as first:
        first.execute(
            "INSERT INTO verification_idempotentrequest (project_id, key, api_key_id, body_digest)"
            " SELECT project_id, 'order-1', id, '' FROM verification_apikey WHERE kind = 'secret'"
        )
        refused = api.manual_send(headers=KEY)
        first.rollback()
    assert problem(refused) == (409, "idempotency_conflict")
    assert (refused.data["retry_after"], refused.headers["Retry-After"]) == (1, "1")
    assert api.manual_send(headers=KEY).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_a_recipient_that_is_held_up_elsewhere_is_no_conflict_of_keys(api):
    api.manual_send()
    with other_connection() as other:
        other.execute("SELECT FROM verification_recipient FOR UPDATE")
        refused = api.manual_send(headers=KEY)
        other.rollback()
    assert problem(refused) == (503, "service_unavailable")
    assert api.manual_send(headers=KEY).status_code == 200
