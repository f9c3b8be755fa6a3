from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from urllib.parse import parse_qsl

import pytest

from providers import registry
from providers.base import HookRequest, Outcome, ReceiptStatus
from providers.errors import HookForged, HookUnreadable, NotConnected, ProviderError, SettingsInvalid
from tests.fakes import http_server as fake
from tests.fakes import twilio as fake_twilio
from tests.fakes.hooks import receipts_of
from tests.fakes.manners import BAD_ANSWERS
from tests.fakes.messages import HOOK_URL, error_of, make_sms
from tests.fakes.twilio import ACCOUNT, CALL_SID, MAGIC, SMS_SID, TOKEN, VALID_FROM, body, sign, twilio

TYPE = "twilio"
SERVICE, KEY = "MG" + "1" * 32, "SK" + "2" * 32
SETTINGS = {"account_sid": ACCOUNT, "auth_token": TOKEN, "from_number": VALID_FROM}
TEXT = "Your code is 4, 7, 1, 1 & no <more>"


def call(**changes):
    return make_sms(**{"channel": "voice", "text": TEXT, **changes})


def form_of(server):
    return dict(parse_qsl(server.requests[-1].body.decode(), strict_parsing=True))


def hook(fields, *, query="id=42", url=HOOK_URL, signature=None, signed_url=None, **headers):
    signed = signed_url or (f"{url}?{query}" if query else url)
    found = {
        "content-type": "application/x-www-form-urlencoded; charset=UTF-8",
        "x-twilio-signature": sign(signed, fields) if signature is None else signature,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    return HookRequest("POST", url, query, found, body(fields))


def message_fields(status, **more):
    return [("MessageSid", SMS_SID), ("SmsSid", SMS_SID), ("MessageStatus", status), *more.items()]


def call_fields(status, **more):
    return [("CallSid", CALL_SID), ("CallStatus", status), *more.items()]


# Settings


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"account_sid": ""}, "account_sid"),
        ({"account_sid": "AC1"}, "account_sid"),
        ({"account_sid": "AC" + "/" * 32}, "account_sid"),
        ({"auth_token": ""}, "auth_token"),
        ({"api_key_sid": KEY}, "api_key_secret"),
        ({"api_key_secret": "x"}, "api_key_secret"),
        ({"api_key_sid": "x", "api_key_secret": "x"}, "api_key_sid"),
        ({"from_number": ""}, "from_number"),
        ({"messaging_service_sid": "x"}, "messaging_service_sid"),
        ({"say_languages": "uz"}, "say_languages"),
        ({"base_url": "http://api.twilio.com"}, "base_url"),
    ],
)
def test_it_refuses_wrong_settings(changes, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings("twilio", {**SETTINGS, **changes})
    assert list(caught.value.errors) == [name]


def test_tokens_and_secrets_are_secret():
    values = registry.clean_settings("twilio", SETTINGS)
    _, secret = registry.split_secrets("twilio", values)
    assert set(secret) == {"auth_token", "api_key_secret", "signing_key_secret"}
    assert values["base_url"] == "https://api.twilio.com"


# Sending SMS


def test_it_sends_a_message(build, server):
    server.script(twilio())
    result = build().send(make_sms())
    [request] = server.requests
    assert (request.method, request.target) == ("POST", f"/2010-04-01/Accounts/{ACCOUNT}/Messages.json")
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert request.body == (
        b"To=%2B4915112345678&Body=Your+code+is+4711&From=%2B15005550006&ValidityPeriod=180"
        b"&StatusCallback=https%3A%2F%2Fcodes.example%2Fhooks%2F1%2F2%3Fid%3D42"
    )
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, SMS_SID)
    assert (result.provider_status, result.is_delivered) == ("queued", False)


def test_it_sends_by_a_messaging_service(build, server):
    server.script(twilio())
    result = build(messaging_service_sid=SERVICE).send(make_sms())
    assert form_of(server)["MessagingServiceSid"] == SERVICE and "From" not in form_of(server)
    assert result.provider_status == "accepted"


def test_a_country_s_sender_comes_first(build, server):
    server.script(fake.answer(201, {"sid": SMS_SID, "status": "queued"}))
    build(messaging_service_sid=SERVICE).send(make_sms(sender="Shop"))
    assert form_of(server)["From"] == "Shop" and "MessagingServiceSid" not in form_of(server)


def test_an_api_key_logs_in(build, server):
    server.script(fake.answer(201, {"sid": SMS_SID}))
    build(api_key_sid=KEY, api_key_secret="s3").send(make_sms())
    assert server.requests[0].headers["authorization"] == "Basic U0syMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjIyMjpzMw=="


def test_it_asks_for_privacy(build, server):
    server.script(twilio())
    build(privacy=True).send(make_sms())
    assert (form_of(server)["ContentRetention"], form_of(server)["AddressRetention"]) == ("discard", "obfuscate")


@pytest.mark.parametrize(("seconds", "sent"), [(0, "1"), (-5, "1"), (180, "180"), (99_999, "36000")])
def test_the_validity_keeps_its_bounds(build, server, seconds, sent):
    server.script(twilio())
    build().send(make_sms(expires_in=seconds))
    assert form_of(server)["ValidityPeriod"] == sent


@pytest.mark.parametrize("text", ["", "x" * 1601])
def test_a_text_that_does_not_fit_is_not_applicable(build, server, text):
    assert error_of(build(), make_sms(text=text)).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


@pytest.mark.parametrize(
    ("hook_url", "settings"),
    [
        (None, {}),
        ("http://10.1.1.1/hooks/1/2", {}),
        ("https://10.0.0.5/hooks/1/2", {}),
        (HOOK_URL, {"auth_token": "", "api_key_sid": KEY, "api_key_secret": "x"}),
    ],
)
def test_without_a_way_to_report_acceptance_is_the_end(build, server, hook_url, settings):
    server.script(fake.answer(201, {"sid": SMS_SID, "status": "queued"}))
    result = build(**settings).send(make_sms(hook_url=hook_url))
    assert result.is_delivered and "StatusCallback" not in form_of(server)


def test_an_allowed_network_may_be_reported_to_in_plain_text(build, server):
    server.script(twilio())
    build().send(make_sms(hook_url="http://127.0.0.1:8000/hooks/1/2"))
    assert form_of(server)["StatusCallback"] == "http://127.0.0.1:8000/hooks/1/2?id=42"


# Sending calls


def test_it_calls(build, server):
    server.script(twilio())
    result = build().send(call())
    [request] = server.requests
    said = '<Pause length="1"/><Say language="en-US">Your code is 4, 7, 1, 1 &amp; no &lt;more&gt;</Say>'
    assert (request.method, request.target) == ("POST", f"/2010-04-01/Accounts/{ACCOUNT}/Calls.json")
    assert form_of(server) == {
        "To": "+4915112345678",
        "From": VALID_FROM,
        "Twiml": f"<Response>{said}{said}</Response>",
        "StatusCallbackEvent": "completed",
        "StatusCallback": f"{HOOK_URL}?id=42",
    }
    assert (result.provider_message_id, result.is_delivered) == (CALL_SID, False)


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
def test_it_chooses_the_voice(build, server, language, settings, spoken):
    server.script(twilio())
    build(**settings).send(call(language=language))
    says = ElementTree.fromstring(form_of(server)["Twiml"]).findall("Say")
    assert [say.attrib for say in says] == [spoken, spoken]


def test_a_text_cannot_break_out_of_the_speech(build, server):
    server.script(twilio())
    build().send(call(text="</Say><Dial>1</Dial>\x00\x0b 😀"))
    root = ElementTree.fromstring(form_of(server)["Twiml"])
    assert [child.tag for child in root] == ["Pause", "Say", "Pause", "Say"]
    assert root[1].text == "</Say><Dial>1</Dial>   😀"


def test_a_call_comes_from_a_number(build, server):
    server.script(twilio(), twilio())
    build().send(call(sender="Shop"))
    assert form_of(server)["From"] == VALID_FROM
    assert error_of(build(), call(sender="+4930123456")).provider_status == "21210"
    server.requests.clear()
    for settings in ({"from_number": "Shop"}, {"from_number": "", "messaging_service_sid": SERVICE}):
        assert error_of(build(**settings), call()).outcome is Outcome.MISCONFIGURED
    assert server.requests == []


def test_a_speech_that_is_too_long_is_not_applicable(build, server):
    assert error_of(build(), call(text="x" * 2000)).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


# The answer


@pytest.mark.parametrize(
    ("message", "code", "outcome"),
    [
        (make_sms(to=MAGIC + "1"), 21211, Outcome.REFUSED),
        (make_sms(to=MAGIC + "2"), 21612, Outcome.DECLINED),
        (make_sms(to=MAGIC + "3"), 21408, Outcome.DECLINED),
        (make_sms(to=MAGIC + "4"), 21610, Outcome.OPTED_OUT),
        (make_sms(to=MAGIC + "9"), 21614, Outcome.REFUSED),
        (make_sms(sender=MAGIC + "1"), 21212, Outcome.MISCONFIGURED),
        (make_sms(sender=MAGIC + "7"), 21606, Outcome.MISCONFIGURED),
        (make_sms(sender=MAGIC + "8"), 21611, Outcome.TEMPORARY),
        (make_sms(sender="+4930123456"), 21606, Outcome.MISCONFIGURED),
        (call(to=MAGIC + "1"), 21217, Outcome.REFUSED),
        (call(to=MAGIC + "2"), 21214, Outcome.DECLINED),
        (call(to=MAGIC + "3"), 21215, Outcome.DECLINED),
        (call(to=MAGIC + "4"), 21216, Outcome.DECLINED),
        (call(sender="+4930123456"), 21210, Outcome.MISCONFIGURED),
    ],
)
def test_it_reads_the_refusals_of_the_magic_numbers(build, server, message, code, outcome):
    server.script(twilio())
    error = error_of(build(), message)
    assert (error.outcome, error.provider_status) == (outcome, str(code))
    assert not error.is_suppressed


@pytest.mark.parametrize(
    ("outcome", "codes"),
    [
        (Outcome.MISCONFIGURED, [10001, 20003, 20404, 21609, 21659]),
        (Outcome.REFUSED, [21217, 30004, 30005, 30006]),
        (Outcome.TEMPORARY, [21611, 21730, 30001]),
        (Outcome.RATE_LIMITED, [20429]),
    ],
)
def test_it_reads_an_error_by_its_number(build, server, outcome, codes):
    for code in codes:
        server.script(fake_twilio.error(code))
        error = error_of(build())
        assert (error.outcome, error.provider_status) == (outcome, str(code))


@pytest.mark.parametrize(
    ("answered", "outcome", "status"),
    [
        (fake.answer(429, {"code": 20429}, {"Retry-After": "3"}), Outcome.RATE_LIMITED, "20429"),
        (fake.answer(400, {"type": "x", "title": "y", "status": 400, "code": 21211}), Outcome.REFUSED, "21211"),
        (fake.answer(400, {"code": "21211"}), Outcome.REFUSED, "21211"),
        (fake.answer(400, {"code": 99999}), Outcome.DECLINED, "99999"),
        (fake.answer(403, {"code": 99999}), Outcome.DECLINED, "99999"),
        (fake.answer(500, {"code": 99999}), Outcome.TEMPORARY, "99999"),
        (fake.answer(400, {"code": True}), Outcome.DECLINED, "400"),
        (fake.answer(201, {"sid": SMS_SID, "status": "failed", "error_code": 30005}), Outcome.REFUSED, "30005"),
        (fake.answer(201, {"sid": SMS_SID, "status": "failed"}), Outcome.DECLINED, "failed"),
    ],
)
def test_it_reads_other_refusals(build, server, answered, outcome, status):
    server.script(answered)
    error = error_of(build())
    assert (error.outcome, error.provider_status) == (outcome, status)
    assert error.retry_after == (3 if outcome is Outcome.RATE_LIMITED else None)


@pytest.mark.parametrize(("behaviour", "outcome"), BAD_ANSWERS)
def test_a_call_stands_bad_answers(build, server, behaviour, outcome):
    server.script(behaviour)
    assert error_of(build(), call()).outcome is outcome
    assert len(server.requests) == 1


@pytest.mark.parametrize("sid", [None, "", 5, "SM1", SMS_SID + "x", "../" + SMS_SID])
def test_an_answer_without_an_id_is_unclear(build, server, sid):
    server.script(fake.answer(201, {"sid": sid, "status": "queued"}))
    assert error_of(build()).outcome is Outcome.UNCLEAR


# Check


@pytest.mark.parametrize(
    ("answered", "is_ok", "balance"),
    [
        ({"account_sid": ACCOUNT, "balance": "0.05", "currency": "USD"}, True, "0.05 USD"),
        ({"balance": "0", "currency": "EUR"}, False, "0 EUR"),
        ({"balance": "-3.10", "currency": "USD"}, False, "-3.10 USD"),
        ({"balance": "NaN", "currency": "USD"}, False, None),
        ({"balance": "5", "currency": "<b>"}, False, None),
        ({}, False, None),
        ([], False, None),
    ],
)
def test_check_tells_the_balance(build, server, answered, is_ok, balance):
    server.script(fake.answer(200, answered))
    health = build().check()
    assert (health.is_ok, health.balance) == (is_ok, balance)
    [request] = server.requests
    assert (request.method, request.target) == ("GET", f"/2010-04-01/Accounts/{ACCOUNT}/Balance.json")


def test_check_tells_of_wrong_credentials(build, server):
    server.script(fake_twilio.error(20003, 401))
    with pytest.raises(ProviderError, match="credentials are not valid"):
        build().check()


def test_check_tells_of_a_service_that_is_away(build, server):
    adapter = build()
    server.__exit__()
    with pytest.raises(NotConnected):
        adapter.check()


# Verifying hooks


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
SETTINGS_HEADER = "key=WK1,algorithm=HMAC_SHA256"


def vector(signature=SHA1, **changes):
    options = {"query": "x=1", "url": VECTOR_URL, "signature": signature, **changes}
    return hook(options.pop("fields", VECTOR_FIELDS), **options)


def test_it_accepts_the_known_signature(build):
    build().verify_hook(vector())


def test_it_accepts_the_known_signature_of_a_signing_key(build):
    request = vector(SHA256, x_twilio_webhooks_signature_settings=SETTINGS_HEADER)
    build(auth_token="other", signing_key_secret=TOKEN).verify_hook(request)


@pytest.mark.parametrize(
    ("url", "signed_url"),
    [
        (HOOK_URL, "https://codes.example:443/hooks/1/2?id=42"),
        ("https://codes.example:443/hooks/1/2", f"{HOOK_URL}?id=42"),
        ("https://codes.example:8443/hooks/1/2", f"{HOOK_URL}?id=42"),
        ("https://codes.example:8443/hooks/1/2", "https://codes.example:8443/hooks/1/2?id=42"),
        ("http://codes.example/hooks/1/2", "http://codes.example:80/hooks/1/2?id=42"),
    ],
)
def test_the_port_may_be_signed_or_not(build, url, signed_url):
    build().verify_hook(hook(message_fields("sent"), url=url, signed_url=signed_url))


def test_unknown_repeated_and_empty_fields_are_signed(build):
    fields = [*message_fields("sent"), ("New", "b"), ("New", "a"), ("New", "b"), ("Empty", ""), ("Ü", "é +&=")]
    build().verify_hook(hook(fields))


@pytest.mark.parametrize(
    "request_",
    [
        vector(SHA1[:-2] + "A="),
        vector(""),
        vector("é"),
        vector(SHA256),
        vector(query="x=2"),
        vector(query=""),
        vector(query="x=1&y=2"),
        vector(url="https://evil.example/hooks/twilio"),
        vector(url="http://example.com/hooks/twilio"),
        vector(fields=[*VECTOR_FIELDS, ("New", "1")]),
        vector(fields=VECTOR_FIELDS[1:]),
        vector(SHA256, x_twilio_webhooks_signature_settings=SETTINGS_HEADER),
        vector(SHA1, x_twilio_webhooks_signature_settings="key=WK1,algorithm=HMAC_MD5"),
        vector(SHA1, x_twilio_webhooks_signature_settings="x"),
        vector(content_type="application/json"),
    ],
)
def test_it_refuses_a_forged_or_altered_call(build, request_):
    with pytest.raises(HookForged):
        build().verify_hook(request_)


@pytest.mark.parametrize("content", [b"\xff=1", b"&".join([b"a=b"] * 300)])
def test_it_refuses_a_body_that_cannot_be_verified(build, content):
    request = hook([])
    with pytest.raises(HookForged):
        build().verify_hook(HookRequest("POST", request.url, request.query, request.headers, content))


def test_it_refuses_a_get(build):
    request = hook([])
    with pytest.raises(HookForged):
        build().verify_hook(HookRequest("GET", request.url, request.query, request.headers, b""))


def test_it_verifies_nothing_without_a_secret(build):
    adapter = build(auth_token="", api_key_sid=KEY, api_key_secret="x")
    signed = f"{HOOK_URL}?id=42"
    for digest, header in (("sha1", {}), ("sha256", {"x_twilio_webhooks_signature_settings": SETTINGS_HEADER})):
        with pytest.raises(HookForged):
            adapter.verify_hook(hook([], signature=sign(signed, [], "", digest), **header))


# Reading hooks


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("sent", ReceiptStatus.SENT),
        ("partially_delivered", ReceiptStatus.SENT),
        ("delivered", ReceiptStatus.SUCCESS),
        ("read", ReceiptStatus.SUCCESS),
        ("undelivered", ReceiptStatus.FAILED),
        ("failed", ReceiptStatus.FAILED),
        ("canceled", ReceiptStatus.FAILED),
    ],
)
def test_it_reads_a_message_s_status(build, word, ours):
    [receipt] = receipts_of(build(), hook(message_fields(word)))
    assert (receipt.status, receipt.provider_message_id, receipt.message_id) == (ours, SMS_SID, 42)
    assert receipt.provider_status == word and bool(receipt.error) == (ours is ReceiptStatus.FAILED)


@pytest.mark.parametrize(
    ("word", "ours", "error"),
    [
        ("ringing", ReceiptStatus.SENT, ""),
        ("in-progress", ReceiptStatus.SUCCESS, ""),
        ("completed", ReceiptStatus.SUCCESS, ""),
        ("busy", ReceiptStatus.FAILED, "Twilio: the line was busy"),
        ("no-answer", ReceiptStatus.FAILED, "Twilio: nobody answered"),
        ("failed", ReceiptStatus.FAILED, "Twilio: it could not be sent"),
        ("canceled", ReceiptStatus.FAILED, "Twilio: it was cancelled"),
    ],
)
def test_it_reads_a_call_s_status(build, word, ours, error):
    [receipt] = receipts_of(build(), hook(call_fields(word)))
    assert (receipt.status, receipt.provider_message_id, receipt.error) == (ours, CALL_SID, error)


def test_a_machine_that_answers_has_heard_no_code(build):
    [receipt] = receipts_of(build(), hook(call_fields("completed", AnsweredBy="machine_start")))
    assert receipt.status is ReceiptStatus.SENT


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("30003", "Twilio: the handset cannot be reached (error 30003)"),
        ("30005", "Twilio: the recipient's number is unknown or no longer in use (error 30005)"),
        ("30007", "Twilio: the message was filtered (error 30007)"),
        ("99999", "Twilio: it was not delivered (error 99999)"),
        ("<b>", "Twilio: it was not delivered"),
    ],
)
def test_it_tells_why_a_message_failed(build, code, error):
    [receipt] = receipts_of(build(), hook(message_fields("undelivered", ErrorCode=code)))
    assert receipt.error == error and not receipt.is_suppressed


def test_an_opt_out_is_this_providers(build):
    [receipt] = receipts_of(build(), hook(message_fields("failed", ErrorCode="21610")))
    assert receipt.is_opted_out and not receipt.is_suppressed and receipt.provider_status == "failed 21610"


@pytest.mark.parametrize("word", ["accepted", "scheduled", "queued", "sending", "receiving", "received", "new", ""])
def test_it_passes_over_what_changes_nothing(build, word):
    assert receipts_of(build(), hook(message_fields(word))) == ()


@pytest.mark.parametrize("query", ["", "id=", "id=x", "id=" + "9" * 19, "other=42"])
def test_an_id_that_is_not_ours_is_left_out(build, query):
    [receipt] = receipts_of(build(), hook(message_fields("sent"), query=query))
    assert (receipt.message_id, receipt.provider_message_id) == (None, SMS_SID)


@pytest.mark.parametrize(
    "fields", [[], [("MessageStatus", "sent")], [("MessageSid", "SM1"), ("MessageStatus", "sent")]]
)
def test_it_does_not_read_a_call_that_names_no_message(build, fields):
    with pytest.raises(HookUnreadable):
        build().parse_hook(hook(fields))
