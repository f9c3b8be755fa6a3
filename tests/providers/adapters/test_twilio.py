from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from urllib.parse import parse_qsl

import pytest

from providers.base import HookRequest, Outcome, ReceiptStatus
from providers.errors import HookUnreadable
from tests.fakes import http_server as fake
from tests.fakes import twilio as fake_twilio
from tests.fakes.hooks import FORM
from tests.fakes.manners import BAD_ANSWERS
from tests.fakes.messages import HOOK_URL, error_of
from tests.fakes.twilio import ACCOUNT, CALL_SID, MAGIC, SMS_SID, TOKEN, VALID_FROM, body, sign, twilio
from tests.providers.vendors import Vendor, each, statuses

SERVICE, KEY = "MG" + "1" * 32, "SK" + "2" * 32
BY_KEY = {"auth_token": "", "api_key_sid": KEY, "api_key_secret": "x"}
TEXT = "Your code is 4, 7, 1, 1 & no <more>"
CALL = {"channel": "voice", "text": TEXT}
SAID = '<Pause length="1"/><Say language="en-US">Your code is 4, 7, 1, 1 &amp; no &lt;more&gt;</Say>'
VECTOR_URL = "https://example.com/hooks/twilio"
VECTOR_FIELDS = [
    ("MessageSid", "SM0123"),
    ("MessageStatus", "delivered"),
    ("To", "+998901234567"),
    ("From", "+14155552345"),
    ("AccountSid", "AC01"),
    ("ApiVersion", "2010-04-01"),
    ("SmsSid", "SM0123"),
    ("SmsStatus", "delivered"),
]
SHA1, SHA256 = "OCrLsfHu3Lkf9Jpehnm683AVdUM=", "prFdjG1i1EKtYEzX5infmHZFQhEWfDXnBZHqv/5fpKU="
BY_SIGNING_KEY = {"x_twilio_webhooks_signature_settings": "key=WK1,algorithm=HMAC_SHA256"}
STRANGE = [("New", "b"), ("New", "a"), ("New", "b"), ("Empty", ""), ("Ü", "é +&=")]


def hook(
    fields, *, query="id=42", url=HOOK_URL, signature=None, signed_url=None, method="POST", content=None, **headers
):
    signed = signed_url or (f"{url}?{query}" if query else url)
    found = {
        "content-type": f"{FORM}; charset=UTF-8",
        "x-twilio-signature": sign(signed, fields) if signature is None else signature,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return HookRequest(method, url, query, found, body(fields) if content is None else content)


def message_fields(status, **more):
    return [("MessageSid", SMS_SID), ("SmsSid", SMS_SID), ("MessageStatus", status), *more.items()]


def call_fields(status, **more):
    return [("CallSid", CALL_SID), ("CallStatus", status), *more.items()]


def vector(signature=SHA1, **changes):
    options = {"query": "x=1", "url": VECTOR_URL, "signature": signature, **changes}
    return hook(options.pop("fields", VECTOR_FIELDS), **options)


def form_of(server):
    return dict(parse_qsl(server.requests[-1].body.decode(), strict_parsing=True))


MAGIC_REFUSALS = [
    ({"to": MAGIC + "1"}, "21211", Outcome.REFUSED),
    ({"to": MAGIC + "2"}, "21612", Outcome.DECLINED),
    ({"to": MAGIC + "3"}, "21408", Outcome.DECLINED),
    ({"to": MAGIC + "4"}, "21610", Outcome.OPTED_OUT),
    ({"to": MAGIC + "9"}, "21614", Outcome.REFUSED),
    ({"sender": MAGIC + "1"}, "21212", Outcome.MISCONFIGURED),
    ({"sender": MAGIC + "7"}, "21606", Outcome.MISCONFIGURED),
    ({"sender": MAGIC + "8"}, "21611", Outcome.TEMPORARY),
    ({"sender": "+4930123456"}, "21606", Outcome.MISCONFIGURED),
    ({**CALL, "to": MAGIC + "1"}, "21217", Outcome.REFUSED),
    ({**CALL, "to": MAGIC + "2"}, "21214", Outcome.DECLINED),
    ({**CALL, "to": MAGIC + "3"}, "21215", Outcome.DECLINED),
    ({**CALL, "to": MAGIC + "4"}, "21216", Outcome.DECLINED),
    ({**CALL, "sender": "+4930123456"}, "21210", Outcome.MISCONFIGURED),
]
CODES = {
    Outcome.MISCONFIGURED: "10001 20003 20404 21609 21659",
    Outcome.REFUSED: "21217 30004 30005 30006",
    Outcome.TEMPORARY: "21611 21730 30001",
    Outcome.RATE_LIMITED: "20429",
}

VENDOR = Vendor(
    type="twilio",
    settings={"account_sid": ACCOUNT, "auth_token": TOKEN, "from_number": VALID_FROM},
    secrets="auth_token api_key_secret signing_key_secret",
    defaults={"base_url": "https://api.twilio.com"},
    wrong={
        "account_sid": ["", "AC1", "AC" + "/" * 32],
        "auth_token": [""],
        "api_key_secret": ["x", {"api_key_sid": KEY}],
        "api_key_sid": [{"api_key_sid": "x", "api_key_secret": "x"}],
        "from_number": [""],
        "messaging_service_sid": ["x"],
        "say_languages": ["uz"],
        "base_url": ["http://api.twilio.com"],
    },
    taken=twilio(),
    sends=[
        (
            {},
            {},
            {
                "method": "POST",
                "target": f"/2010-04-01/Accounts/{ACCOUNT}/Messages.json",
                "header content-type": FORM,
                "body": b"To=%2B4915112345678&Body=Your+code+is+4711&From=%2B15005550006&ValidityPeriod=180"
                b"&StatusCallback=https%3A%2F%2Fcodes.example%2Fhooks%2F1%2F2%3Fid%3D42",
                "provider_message_id": SMS_SID,
                "provider_status": "queued",
                "is_delivered": False,
            },
        ),
        (
            {"messaging_service_sid": SERVICE},
            {},
            {"MessagingServiceSid": SERVICE, "From": None, "provider_status": "accepted"},
        ),
        (
            {"messaging_service_sid": SERVICE},
            {"sender": "Shop"},
            {"MessagingServiceSid": None, "From": "Shop"},
            fake.answer(201, {"sid": SMS_SID, "status": "queued"}),
        ),
        (
            {"api_key_sid": KEY, "api_key_secret": "s3"},
            {},
            {"header authorization": "Basic U0syMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjpzMw=="},
            fake.answer(201, {"sid": SMS_SID}),
        ),
        ({"privacy": True}, {}, {"ContentRetention": "discard", "AddressRetention": "obfuscate"}),
        *[
            ({}, {"expires_in": seconds}, {"ValidityPeriod": sent})
            for seconds, sent in [(0, "1"), (-5, "1"), (180, "180"), (99_999, "36000")]
        ],
        *[
            (
                settings,
                {"hook_url": url},
                {"is_delivered": True, "StatusCallback": None},
                fake.answer(201, {"sid": SMS_SID, "status": "queued"}),
            )
            for url, settings in [
                (None, {}),
                ("http://10.1.1.1/hooks/1/2", {}),
                ("https://10.0.0.5/hooks/1/2", {}),
                (HOOK_URL, BY_KEY),
            ]
        ],
        (
            {},
            {"hook_url": "http://127.0.0.1:8000/hooks/1/2"},  # an allowed network
            {"StatusCallback": "http://127.0.0.1:8000/hooks/1/2?id=42"},
        ),
        (
            {},
            CALL,
            {
                "method": "POST",
                "target": f"/2010-04-01/Accounts/{ACCOUNT}/Calls.json",
                "": {
                    "To": "+4915112345678",
                    "From": VALID_FROM,
                    "Twiml": f"<Response>{SAID}{SAID}</Response>",
                    "StatusCallbackEvent": "completed",
                    "StatusCallback": f"{HOOK_URL}?id=42",
                },
                "provider_message_id": CALL_SID,
                "is_delivered": False,
            },
        ),
        ({}, {**CALL, "sender": "Shop"}, {"From": VALID_FROM}),
    ],
    not_applicable=[({"text": ""},), ({"text": "x" * 1601},), ({**CALL, "text": "x" * 2000},)],
    refusals=[
        *[(twilio(), outcome, code, {}, message) for message, code, outcome in MAGIC_REFUSALS],
        *[(fake_twilio.error(int(code)), outcome, code) for outcome, codes in CODES.items() for code in codes.split()],
        (
            fake.answer(429, {"code": 20429}, {"Retry-After": "3"}),
            Outcome.RATE_LIMITED,
            "20429",
            {"retry_after": 3},
        ),
        *[
            (answered, outcome, status, {"retry_after": None})
            for answered, outcome, status in [
                (fake.answer(400, {"type": "x", "title": "y", "code": 21211}), Outcome.REFUSED, "21211"),
                (fake.answer(400, {"code": "21211"}), Outcome.REFUSED, "21211"),
                (fake.answer(400, {"code": 99999}), Outcome.DECLINED, "99999"),
                (fake.answer(403, {"code": 99999}), Outcome.DECLINED, "99999"),
                (fake.answer(500, {"code": 99999}), Outcome.TEMPORARY, "99999"),
                (fake.answer(400, {"code": True}), Outcome.DECLINED, "400"),
                (
                    fake.answer(201, {"sid": SMS_SID, "status": "failed", "error_code": 30005}),
                    Outcome.REFUSED,
                    "30005",
                ),
                (fake.answer(201, {"sid": SMS_SID, "status": "failed"}), Outcome.DECLINED, "failed"),
            ]
        ],
        *[(*case.values, None, {}, CALL) for case in BAD_ANSWERS],
        *[
            (fake.answer(201, {"sid": sid, "status": "queued"}), Outcome.UNCLEAR)
            for sid in (None, "", 5, "SM1", SMS_SID + "x", "../" + SMS_SID)
        ],
    ],
    check_request=f"GET /2010-04-01/Accounts/{ACCOUNT}/Balance.json",
    checks=[
        (fake.answer(200, {"account_sid": ACCOUNT, "balance": "0.05", "currency": "USD"}), True, "", "0.05 USD"),
        (fake.answer(200, {"balance": "0", "currency": "EUR"}), False, "", "0 EUR"),
        (fake.answer(200, {"balance": "-3.10", "currency": "USD"}), False, "", "-3.10 USD"),
        (fake.answer(200, {"balance": "NaN", "currency": "USD"}), False),
        (fake.answer(200, {"balance": "5", "currency": "<b>"}), False),
        (fake.answer(200, {}), False),
        (fake.answer(200, []), False),
        (fake_twilio.error(20003, 401), Outcome.MISCONFIGURED, "credentials are not valid"),
    ],
    sign=hook,
    genuine=[
        (vector(),),
        (vector(SHA256, **BY_SIGNING_KEY), {"auth_token": "other", "signing_key_secret": TOKEN}),
        *[
            (hook(message_fields("sent"), url=url, signed_url=signed_url),)  # the port may be signed or not
            for url, signed_url in [
                (HOOK_URL, "https://codes.example:443/hooks/1/2?id=42"),
                ("https://codes.example:443/hooks/1/2", f"{HOOK_URL}?id=42"),
                ("https://codes.example:8443/hooks/1/2", f"{HOOK_URL}?id=42"),
                ("https://codes.example:8443/hooks/1/2", "https://codes.example:8443/hooks/1/2?id=42"),
                ("http://codes.example/hooks/1/2", "http://codes.example:80/hooks/1/2?id=42"),
            ]
        ],
        (hook([*message_fields("sent"), *STRANGE]),),
    ],
    forged=[
        *each([vector(SHA1[:-2] + "A="), vector(""), vector("é"), vector(SHA256)]),
        *each([vector(query="x=2"), vector(query=""), vector(query="x=1&y=2")]),
        (vector(url="https://evil.example/hooks/twilio"),),
        (vector(url="http://example.com/hooks/twilio"),),
        (vector(fields=[*VECTOR_FIELDS, ("New", "1")]),),
        (vector(fields=VECTOR_FIELDS[1:]),),
        (vector(SHA256, **BY_SIGNING_KEY),),
        (vector(SHA1, x_twilio_webhooks_signature_settings="key=WK1,algorithm=HMAC_MD5"),),
        (vector(SHA1, x_twilio_webhooks_signature_settings="x"),),
        (vector(content_type="application/json"),),
        (hook([], content=b"\xff=1"),),
        (hook([], content=b"&".join([b"a=b"] * 300)),),
        (hook([], method="GET"),),
        (hook([], signature=sign(f"{HOOK_URL}?id=42", [], "", "sha1")), BY_KEY),
        (hook([], signature=sign(f"{HOOK_URL}?id=42", [], "", "sha256"), **BY_SIGNING_KEY), BY_KEY),
    ],
    reports=[
        *statuses(
            {
                ReceiptStatus.SENT: "sent partially_delivered",
                ReceiptStatus.SUCCESS: "delivered read",
                ReceiptStatus.FAILED: "undelivered failed canceled",
            },
            message_fields,
            provider_message_id=SMS_SID,
            message_id=42,
        ),
        *[
            (call_fields(word), {"status": ours, "provider_message_id": CALL_SID, "error": error})
            for word, ours, error in [
                ("ringing", ReceiptStatus.SENT, ""),
                ("in-progress", ReceiptStatus.SUCCESS, ""),
                ("completed", ReceiptStatus.SUCCESS, ""),
                ("busy", ReceiptStatus.FAILED, "Twilio: the line was busy"),
                ("no-answer", ReceiptStatus.FAILED, "Twilio: nobody answered"),
                ("failed", ReceiptStatus.FAILED, "Twilio: it could not be sent"),
                ("canceled", ReceiptStatus.FAILED, "Twilio: it was cancelled"),
            ]
        ],
        (call_fields("completed", AnsweredBy="machine_start"), {"status": ReceiptStatus.SENT}),  # nobody heard a code
        *[
            (message_fields("undelivered", ErrorCode=code), {"error": f"Twilio: {error}"})
            for code, error in [
                ("30003", "the handset cannot be reached (error 30003)"),
                ("30005", "the recipient's number is unknown or no longer in use (error 30005)"),
                ("30007", "the message was filtered (error 30007)"),
                ("99999", "it was not delivered (error 99999)"),
                ("<b>", "it was not delivered"),
            ]
        ],
        (message_fields("failed", ErrorCode="21610"), {"is_opted_out": True, "provider_status": "failed 21610"}),
        *[
            (message_fields(word), ())
            for word in ("accepted", "scheduled", "queued", "sending", "receiving", "received", "new", "")
        ],
        *[
            (hook(message_fields("sent"), query=query), {"message_id": None, "provider_message_id": SMS_SID})
            for query in ("", "id=", "id=x", "id=" + "9" * 19, "other=42")
        ],
        *each([[], [("MessageStatus", "sent")], [("MessageSid", "SM1"), ("MessageStatus", "sent")]], HookUnreadable),
    ],
)


@pytest.mark.parametrize(
    ("language", "settings", "spoken"),
    [
        ("de", {}, {"language": "de-DE"}),
        ("pt-BR", {}, {"language": "pt-BR"}),
        ("de-AT", {}, {"language": "de-DE"}),
        ("uz", {}, {}),
        ("uz", {"say_languages": "uz=ru-RU"}, {"language": "ru-RU"}),
        ("en", {"say_languages": "en=en-GB", "say_voice": 'x" y'}, {"language": "en-GB", "voice": 'x" y'}),
    ],
)
def test_it_chooses_the_voice(server, language, settings, spoken):
    server.script(twilio())
    VENDOR.build(server, **settings).send(VENDOR.make_message(**CALL, language=language))
    says = ElementTree.fromstring(form_of(server)["Twiml"]).findall("Say")
    assert [say.attrib for say in says] == [spoken, spoken]


def test_a_text_cannot_break_out_of_the_speech(server):
    server.script(twilio())
    VENDOR.build(server).send(VENDOR.make_message(channel="voice", text="</Say><Dial>1</Dial>\x00\x0b 😀"))
    root = ElementTree.fromstring(form_of(server)["Twiml"])
    assert [child.tag for child in root] == ["Pause", "Say", "Pause", "Say"]
    assert root[1].text == "</Say><Dial>1</Dial>   😀"


@pytest.mark.parametrize("settings", [{"from_number": "Shop"}, {"from_number": "", "messaging_service_sid": SERVICE}])
def test_a_call_comes_from_a_number(server, settings):
    adapter = VENDOR.build(server, **settings)
    assert error_of(adapter, VENDOR.make_message(**CALL)).outcome is Outcome.MISCONFIGURED
    assert server.requests == []
