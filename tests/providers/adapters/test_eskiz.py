from __future__ import annotations

import hashlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from providers.base import Outcome, ReceiptStatus
from providers.errors import HookUnreadable
from tests.fakes import http_server as fake
from tests.fakes.hooks import FORM, call, receipts_of
from tests.fakes.messages import error_of, make_sms
from tests.fakes.store import FakeStore
from tests.providers.vendors import Vendor, each

TYPE = "eskiz"
SETTINGS = {"email": "shop@example.uz", "password": "hush-hush"}
TASHKENT = {"to": "+998901234567"}

LOGIN = fake.answer(200, {"message": "token_generated", "data": {"token": "hush-new"}, "token_type": "bearer"})
TAKEN = fake.answer(200, {"id": "8f2d-77", "message": "Waiting for SMS provider", "status": "waiting"})
EXPIRED = fake.answer(401, {"message": "Expired", "status": "token-invalid"})
UNASKED = {"confirms_receipts": False}
MULTIPART = (
    b'--b\r\nContent-Disposition: form-data; name="request_id"\r\n\r\n8f2d-77\r\n'
    b'--b\r\nContent-Disposition: form-data; name="status"\r\n\r\nDELIVERED\r\n--b--\r\n'
)
PARTS = "multipart/form-data; boundary=b"
AS_JSON = b'{"request_id": "8f2d-77", "status": "DELIVERED"}'
DELIVERED = {"status": ReceiptStatus.SUCCESS, "provider_message_id": "8f2d-77"}


def state(word):
    return fake.answer(200, {"status": "success", "data": {"id": 1, "status": word}})


def report(word="DELIVERED", **changes):
    return call({"request_id": "8f2d-77", "status": word, "phone_number": "998901234567", **changes})


def keep_token(adapter, token="hush-old"):
    adapter.store.set(f"token-{adapter._account()}", token, 60)


def targets(server):
    return [request.target for request in server.requests]


VENDOR = Vendor(
    type=TYPE,
    settings=SETTINGS,
    secrets="password",
    wrong={
        "email": [""],
        "password": [""],
        "base_url": ["http://notify.eskiz.uz", "https://127.0.0.1/api"],
    },
    prepare=keep_token,
    message=TASHKENT,
    taken=TAKEN,
    sends=[
        (
            {},
            {},
            {
                "target": "/message/sms/send",
                "header authorization": "Bearer hush-old",
                "body": b"mobile_phone=998901234567&message=Your+code+is+4711&from=4546"
                b"&callback_url=https%3A%2F%2Fcodes.example%2Fhooks%2F1%2F2",
                "provider_message_id": "8f2d-77",
                "provider_status": "WAITING",
                "is_delivered": False,
            },
        ),
        *[
            (
                {"is_international": True},
                {"to": "+4915112345678", "text": text, "country": "DE"},
                {
                    "target": "/message/sms/send-global",
                    "country_code": "DE",
                    "unicode": unicode,
                    "is_delivered": True,
                },
            )
            for text, unicode in [("Code 4711", "0"), ("Код 4711", "1")]
        ],
    ],
    not_applicable=[({"text": ""},), ({"to": "+4915112345678"},)],  # other countries are off at first
    refusals=[
        (fake.answer(status, body), outcome)
        for status, body, outcome in [
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
        ]
    ],
    check_request="GET /auth/user",
    checks=[
        (fake.answer(200, {"balance": 4500}), True, "", "4500 UZS"),
        (fake.answer(200, {"data": {"balance": 4500}}), True, "", "4500 UZS"),
    ],
    sign=call,
    takes_get=True,
    forged=[
        (report(), {}, None, said)  # Eskiz does not confirm it
        for said in (state("waiting"), state("REJECTED"), fake.answer(404, {}), fake.hang_up())
    ],
    reports=[
        *[
            (report(word), {"status": ours, "provider_message_id": "8f2d-77"}, {}, state(word))
            for words, ours in [
                ("ACCEPTED ENROUTE PARTDELIVERED", ReceiptStatus.SENT),
                ("DELIVERED DELIVRD", ReceiptStatus.SUCCESS),
                ("EXPIRED", ReceiptStatus.EXPIRED),
                ("REJECTED REJECTD UNDELIV UNDELIVERABLE DELETED", ReceiptStatus.FAILED),
            ]
            for word in words.split()
        ],
        *[
            (json.dumps({name: "8f2d-77", "status": "DELIVERED"}).encode(), DELIVERED, UNASKED)
            for name in ("request_id", "message_id", "id")
        ],
        (call(MULTIPART, kind=PARTS), DELIVERED, UNASKED),
        (call(AS_JSON, kind="text/plain; charset=utf-8"), DELIVERED, UNASKED),
        (call(AS_JSON, kind=FORM), DELIVERED, UNASKED),
        (call(b"request_id=8f2d-77&status=DELIVERED", kind=""), DELIVERED, UNASKED),
        *[(call(body, kind=PARTS), HookUnreadable, UNASKED) for body in (b"", b"x", MULTIPART[:20])],
        *each([report(word) for word in ("waiting", "NEW", "UNKNOWN", "", "to 998901234567")], ()),
    ],
)


def test_a_receipt_is_asked_for_once_and_only_where_it_is_to_be_confirmed(server):
    server.script(state("DELIVERED"))
    receipts_of(VENDOR.build(server), report())
    receipts_of(VENDOR.build(server, **UNASKED), report())
    assert targets(server) == ["/message/sms/status_by_id/8f2d-77"]


@pytest.mark.parametrize("identity", ["", "../../user", "a b", "x" * 101])
def test_an_id_that_is_none_is_not_asked_for(server, identity):
    with pytest.raises(HookUnreadable):
        receipts_of(VENDOR.build(server), report(request_id=identity))
    assert server.requests == []


# The token


def test_it_logs_in_once_and_keeps_the_token(build, server, store):
    server.script(LOGIN, TAKEN, TAKEN)
    adapter = build()
    adapter.send(make_sms(**TASHKENT))
    adapter.send(make_sms(**TASHKENT))
    assert targets(server) == ["/auth/login", "/message/sms/send", "/message/sms/send"]
    assert server.requests[0].body == b"email=shop%40example.uz&password=hush-hush"
    assert [request.headers.get("authorization") for request in server.requests[1:]] == ["Bearer hush-new"] * 2
    assert list(store.values.values()) == ["hush-new"]


def test_no_name_in_the_store_lets_passwords_be_tried_fast(build, server, store):
    server.script(LOGIN, TAKEN)
    adapter = build()
    adapter.send(make_sms(**TASHKENT))
    names = " ".join([*store.values, *store.lists])
    log_in = "\n".join(adapter.text(name) for name in ("base_url", "email", "password"))
    assert names.count(adapter._account()) == 2
    assert hashlib.sha256(log_in.encode()).hexdigest()[:16] not in names


def test_a_refused_token_is_replaced_once(server):
    server.script(EXPIRED, LOGIN, TAKEN)
    assert VENDOR.build(server).send(make_sms(**TASHKENT)).outcome is Outcome.ACCEPTED
    assert targets(server) == ["/message/sms/send", "/auth/login", "/message/sms/send"]
    assert server.requests[2].headers["authorization"] == "Bearer hush-new"


def test_a_new_token_that_is_refused_too_is_the_owner_s_matter(server):
    server.script(EXPIRED, LOGIN, EXPIRED)
    assert error_of(VENDOR.build(server), make_sms(**TASHKENT)).outcome is Outcome.MISCONFIGURED
    assert len(server.requests) == 3


def test_many_threads_with_a_refused_token_log_in_once(server):
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
    adapter = VENDOR.build(server)
    shared = SharedStore()
    shared.values = adapter.store.values
    adapter.store = shared
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: adapter.send(make_sms(**TASHKENT)).outcome, range(8)))
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
    assert adapter.send(make_sms(**TASHKENT)).outcome is Outcome.ACCEPTED


def test_another_password_has_no_token_yet(build, server):
    server.script(LOGIN, TAKEN)
    keep_token(build())
    build(password="hush-other").send(make_sms(**TASHKENT))
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
    assert error_of(build(), make_sms(**TASHKENT)).outcome is outcome
    assert targets(server) == ["/auth/login"]
