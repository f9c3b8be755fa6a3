from __future__ import annotations

import hashlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from providers import registry
from providers.base import Outcome, ReceiptStatus
from providers.errors import HookForged, HookUnreadable, SettingsInvalid
from tests.fakes import http_server as fake
from tests.fakes.hooks import call, receipts_of
from tests.fakes.messages import error_of, make_sms
from tests.fakes.store import FakeStore

TYPE = "eskiz"
SETTINGS = {"email": "shop@example.uz", "password": "hush-hush"}
TASHKENT = "+998901234567"

LOGIN = fake.answer(200, {"message": "token_generated", "data": {"token": "hush-new"}, "token_type": "bearer"})
TAKEN = fake.answer(200, {"id": "8f2d-77", "message": "Waiting for SMS provider", "status": "waiting"})
EXPIRED = fake.answer(401, {"message": "Expired", "status": "token-invalid"})


def state(word):
    return fake.answer(200, {"status": "success", "data": {"id": 1, "status": word}})


def report(word="DELIVERED", **changes):
    return call({"request_id": "8f2d-77", "status": word, "phone_number": "998901234567", **changes})


@pytest.fixture
def known(build):
    """An adapter whose token is there already."""

    def make(token="hush-old", **changes):
        adapter = build(**changes)
        adapter.store.set(f"token-{adapter._account()}", token, 60)
        return adapter

    return make


def targets(server):
    return [request.target for request in server.requests]


# Settings


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"email": ""}, "email"),
        ({"password": ""}, "password"),
        ({"base_url": "http://notify.eskiz.uz"}, "base_url"),
        ({"base_url": "https://127.0.0.1/api"}, "base_url"),
    ],
)
def test_it_refuses_wrong_settings(changes, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings(TYPE, {**SETTINGS, **changes})
    assert list(caught.value.errors) == [name]


# The token


def test_it_logs_in_once_and_keeps_the_token(build, server, store):
    server.script(LOGIN, TAKEN, TAKEN)
    adapter = build()
    adapter.send(make_sms(to=TASHKENT))
    adapter.send(make_sms(to=TASHKENT))
    assert targets(server) == ["/auth/login", "/message/sms/send", "/message/sms/send"]
    assert server.requests[0].body == b"email=shop%40example.uz&password=hush-hush"
    assert [request.headers.get("authorization") for request in server.requests[1:]] == ["Bearer hush-new"] * 2
    assert list(store.values.values()) == ["hush-new"]


def test_no_name_in_the_store_lets_passwords_be_tried_fast(build, server, store):
    server.script(LOGIN, TAKEN)
    adapter = build()
    adapter.send(make_sms(to=TASHKENT))
    names = " ".join([*store.values, *store.lists])
    log_in = "\n".join(adapter.text(name) for name in ("base_url", "email", "password"))
    assert names.count(adapter._account()) == 2
    assert hashlib.sha256(log_in.encode()).hexdigest()[:16] not in names


def test_a_refused_token_is_replaced_once(known, server):
    server.script(EXPIRED, LOGIN, TAKEN)
    assert known().send(make_sms(to=TASHKENT)).outcome is Outcome.ACCEPTED
    assert targets(server) == ["/message/sms/send", "/auth/login", "/message/sms/send"]
    assert server.requests[2].headers["authorization"] == "Bearer hush-new"


def test_a_new_token_that_is_refused_too_is_the_owner_s_matter(known, server):
    server.script(EXPIRED, LOGIN, EXPIRED)
    assert error_of(known(), make_sms(to=TASHKENT)).outcome is Outcome.MISCONFIGURED
    assert len(server.requests) == 3


def test_many_threads_with_a_refused_token_log_in_once(known, server):
    lock = threading.Lock()

    class SharedStore(FakeStore):
        def push(self, *arguments, **options):
            with lock:
                super().push(*arguments, **options)

    def speak(running, connection):
        asked = running.asked
        if asked.target == "/auth/login":
            behave = LOGIN
        else:
            behave = TAKEN if asked.headers["authorization"] == "Bearer hush-new" else EXPIRED
        return behave(running, connection)

    server.default = speak
    adapter = known()
    shared = SharedStore()
    shared.values = adapter.store.values
    adapter.store = shared
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: adapter.send(make_sms(to=TASHKENT)).outcome, range(8)))
    assert results == [Outcome.ACCEPTED] * 8
    assert targets(server).count("/auth/login") == 1


def test_without_a_store_every_call_logs_in(build, server):
    class CircuitBreaker(FakeStore):
        def get(self, name):
            raise ConnectionError

        set = push = list = lambda self, *_, **__: 1 / 0

    server.script(LOGIN, TAKEN)
    adapter = build()
    adapter.store = CircuitBreaker()
    assert adapter.send(make_sms(to=TASHKENT)).outcome is Outcome.ACCEPTED


def test_another_password_has_no_token_yet(known, build, server):
    server.script(LOGIN, TAKEN)
    known()
    build(password="hush-other").send(make_sms(to=TASHKENT))
    assert targets(server)[0] == "/auth/login"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (fake.answer(401, {"message": "Invalid credentials"}), Outcome.MISCONFIGURED),
        (fake.answer(422, {"message": "x"}), Outcome.MISCONFIGURED),
        (fake.answer(200, {"data": {"token": "a b"}}), Outcome.MISCONFIGURED),
        (fake.answer(500, b"<html>"), Outcome.TEMPORARY),
        (fake.answer(504, b"<html>"), Outcome.TEMPORARY),
        (fake.hang_up(), Outcome.TEMPORARY),
    ],
)
def test_a_log_in_that_fails_has_sent_nothing(build, server, answer, outcome):
    server.script(answer)
    assert error_of(build(), make_sms(to=TASHKENT)).outcome is outcome
    assert targets(server) == ["/auth/login"]


# Sending


def test_it_sends_a_message(known, server):
    server.script(TAKEN)
    result = known().send(make_sms(to=TASHKENT))
    [request] = server.requests
    assert request.body == (
        b"mobile_phone=998901234567&message=Your+code+is+4711&from=4546"
        b"&callback_url=https%3A%2F%2Fcodes.example%2Fhooks%2F1%2F2"
    )
    assert (result.provider_message_id, result.provider_status, result.is_delivered) == ("8f2d-77", "WAITING", False)


def test_other_countries_are_off_at_first(known, server):
    assert error_of(known()).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


@pytest.mark.parametrize(("text", "unicode"), [("Code 4711", b"0"), ("Код 4711", b"1")])
def test_other_countries_have_a_service_of_their_own(known, server, text, unicode):
    server.script(TAKEN)
    assert known(is_international=True).send(make_sms(text=text, country="DE")).is_delivered
    assert server.requests[0].target == "/message/sms/send-global"
    assert server.requests[0].body.endswith(b"&country_code=DE&unicode=" + unicode)


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (400, {"status": "error", "message": "no template for 998901234567"}, Outcome.DECLINED),
        (422, {"status": "error", "message": {"mobile_phone": ["998901234567"]}}, Outcome.REFUSED),
        (422, {"errors": {"mobile_phone": ["x"]}}, Outcome.REFUSED),
        (200, {"status": "error", "message": "x"}, Outcome.DECLINED),
        (422, {"errors": {"message": ["no template"]}}, Outcome.MISCONFIGURED),
        (422, {"errors": {"from": ["x"]}}, Outcome.MISCONFIGURED),
        (402, {}, Outcome.OUT_OF_FUNDS),
        (429, {}, Outcome.RATE_LIMITED),
        (500, {}, Outcome.TEMPORARY),
        (200, {"id": "8f2d-77", "status": "strange"}, Outcome.UNCLEAR),
        (200, {"id": 7, "status": "waiting"}, Outcome.UNCLEAR),
    ],
)
def test_it_reads_an_error(known, server, status, body, outcome):
    server.script(fake.answer(status, body))
    assert error_of(known(), make_sms(to=TASHKENT)).outcome is outcome


# Check


@pytest.mark.parametrize("body", [{"balance": 4500}, {"data": {"balance": 4500}}])
def test_check_tells_the_balance(known, server, body):
    server.script(fake.answer(200, body))
    assert (known().check().balance, targets(server)) == ("4500 UZS", ["/auth/user"])


# Receipts


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("ACCEPTED", ReceiptStatus.SENT),
        ("PARTDELIVERED", ReceiptStatus.SENT),
        ("DELIVERED", ReceiptStatus.SUCCESS),
        ("DELIVRD", ReceiptStatus.SUCCESS),
        ("EXPIRED", ReceiptStatus.EXPIRED),
        ("REJECTED", ReceiptStatus.FAILED),
        ("UNDELIV", ReceiptStatus.FAILED),
        ("DELETED", ReceiptStatus.FAILED),
    ],
)
def test_it_takes_a_receipt_that_eskiz_confirms(known, server, word, ours):
    server.script(state(word))
    [found] = receipts_of(known(), report(word))
    assert (found.status, found.provider_message_id) == (ours, "8f2d-77")
    assert targets(server) == ["/message/sms/status_by_id/8f2d-77"]


@pytest.mark.parametrize("said", [state("waiting"), state("REJECTED"), fake.answer(404, {}), fake.hang_up()])
def test_a_receipt_that_eskiz_does_not_confirm_is_forged(known, server, said):
    server.script(said)
    with pytest.raises(HookForged):
        receipts_of(known(), report())


def test_without_asking_back_the_address_s_secret_is_all_there_is(known, server):
    assert receipts_of(known(confirms_receipts=False), report())[0].status is ReceiptStatus.SUCCESS
    assert server.requests == []


@pytest.mark.parametrize("name", ["request_id", "message_id", "id"])
def test_it_reads_the_usual_names_in_json_too(known, name):
    body = json.dumps({name: "8f2d-77", "status": "DELIVERED"}).encode()
    [found] = receipts_of(known(confirms_receipts=False), call(body))
    assert found.provider_message_id == "8f2d-77"


MULTIPART = (
    b'--b\r\nContent-Disposition: form-data; name="request_id"\r\n\r\n8f2d-77\r\n'
    b'--b\r\nContent-Disposition: form-data; name="status"\r\n\r\nDELIVERED\r\n--b--\r\n'
)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data; boundary=b", MULTIPART),
        ("text/plain; charset=utf-8", b'{"request_id": "8f2d-77", "status": "DELIVERED"}'),
        ("application/x-www-form-urlencoded", b'{"request_id": "8f2d-77", "status": "DELIVERED"}'),
        ("", b"request_id=8f2d-77&status=DELIVERED"),
    ],
)
def test_it_reads_a_body_of_any_kind(known, kind, body):
    [found] = receipts_of(known(confirms_receipts=False), call(body, kind=kind))
    assert (found.provider_message_id, found.status) == ("8f2d-77", ReceiptStatus.SUCCESS)


@pytest.mark.parametrize("body", [b"", b"x", MULTIPART[:20]])
def test_a_form_of_parts_that_is_none_is_unreadable(known, body):
    with pytest.raises(HookUnreadable):
        known(confirms_receipts=False).parse_hook(call(body, kind="multipart/form-data; boundary=b"))


@pytest.mark.parametrize("word", ["waiting", "NEW", "UNKNOWN", "", "to 998901234567"])
def test_it_passes_over_what_changes_nothing(known, word):
    assert receipts_of(known(), report(word)) == ()


@pytest.mark.parametrize("identity", ["", "../../user", "a b", "x" * 101])
def test_an_id_that_is_none_is_not_asked_for(known, server, identity):
    with pytest.raises(HookUnreadable):
        receipts_of(known(), report(request_id=identity))
    assert server.requests == []
