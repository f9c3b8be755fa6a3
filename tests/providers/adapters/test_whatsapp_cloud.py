from __future__ import annotations

import json

import pytest

from providers import registry
from providers.base import HookRequest, Outcome, ReceiptStatus
from providers.errors import HookForged, HookUnreadable, NotConnected, ProviderError, SettingsInvalid
from providers.http.client import HttpClient
from tests.fakes import http_server as fake
from tests.fakes import whatsapp
from tests.fakes.messages import make_message
from tests.fakes.whatsapp import APP_SECRET, PHONE_NUMBER_ID, TOKEN, VERIFY_TOKEN, body, change, cloud_api, sign, status

LOOPBACK = ("127.0.0.0/8",)
URL = "https://codes.example/hooks/1/2"
SETTINGS = {
    "access_token": TOKEN,
    "phone_number_id": PHONE_NUMBER_ID,
    "template_name": "verification_code",
    "app_secret": APP_SECRET,
    "verify_token": VERIFY_TOKEN,
}


@pytest.fixture
def build(server, store):
    def make(**changes):
        raw = {**SETTINGS, "base_url": server.url, **changes}
        settings = registry.clean_settings("whatsapp_cloud", raw, LOOPBACK)
        return registry.build("whatsapp_cloud", settings, http=HttpClient(LOOPBACK), store=store)

    return make


def whatsapp_message(**changes):
    return make_message(**{"channel": "messenger_b", "to": "+998901234567", "code": "123456", **changes})


def error_of(adapter, message=None):
    with pytest.raises(ProviderError) as caught:
        adapter.send(message or whatsapp_message())
    for secret in ("123456", "998901234567", "4915112345678", TOKEN):
        assert secret not in str(caught.value)
    return caught.value


def post(content, signature=None):
    headers = {"x-hub-signature-256": sign(content) if signature is None else signature}
    return HookRequest("POST", URL, "", headers, content)


def get(query):
    return HookRequest("GET", URL, query, {}, b"")


def receipts_of(adapter, content):
    request = post(content)
    adapter.verify_hook(request)
    return adapter.parse_hook(request).events


# Settings


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"access_token": ""}, "access_token"),
        ({"phone_number_id": ""}, "phone_number_id"),
        ({"phone_number_id": "+4915112345678"}, "phone_number_id"),
        ({"phone_number_id": "1/2"}, "phone_number_id"),
        ({"template_name": ""}, "template_name"),
        ({"template_languages": "en"}, "template_languages"),
        ({"template_languages": "=en_US"}, "template_languages"),
        ({"api_version": "23"}, "api_version"),
        ({"api_version": "v23.0/x"}, "api_version"),
        ({"app_secret": ""}, "verify_token"),
        ({"verify_token": ""}, "verify_token"),
        ({"base_url": "http://graph.facebook.com"}, "base_url"),
    ],
)
def test_it_refuses_wrong_settings(changes, name):
    with pytest.raises(SettingsInvalid) as caught:
        registry.clean_settings("whatsapp_cloud", {**SETTINGS, **changes})
    assert list(caught.value.errors) == [name]


def test_tokens_and_secrets_are_secret():
    _, secret = registry.split_secrets("whatsapp_cloud", SETTINGS)
    assert set(secret) == {"access_token", "app_secret", "verify_token"}


def test_the_defaults_lead_to_the_vendor():
    values = registry.clean_settings("whatsapp_cloud", SETTINGS)
    assert (values["base_url"], values["api_version"]) == ("https://graph.facebook.com", "v23.0")


# Sending


def test_it_sends_the_template_with_the_code_twice(build, server):
    server.script(cloud_api())
    result = build(template_language="en_US").send(whatsapp_message())
    [request] = server.requests
    assert (request.method, request.target) == ("POST", f"/v23.0/{PHONE_NUMBER_ID}/messages")
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["content-type"] == "application/json"
    assert request.body == (
        b'{"messaging_product":"whatsapp","recipient_type":"individual","to":"998901234567","type":"template",'
        b'"biz_opaque_callback_data":"42","template":{"name":"verification_code","language":{"code":"en_US"},'
        b'"components":[{"type":"body","parameters":[{"type":"text","text":"123456"}]},'
        b'{"type":"button","sub_type":"url","index":"0","parameters":[{"type":"text","text":"123456"}]}]}}'
    )
    assert (result.outcome, result.provider_message_id) == (Outcome.ACCEPTED, "wamid.HBgM1")
    assert not result.is_delivered


@pytest.mark.parametrize(
    ("settings", "language", "sent"),
    [
        ({}, "de", "de"),
        ({}, "pt-BR", "pt_BR"),
        ({"template_languages": "de=de\nen=en_US"}, "en", "en_US"),
        ({"template_languages": "de=de\nen=en_US"}, "en-GB", "en_US"),
        ({"template_languages": "en-GB = en_GB\r\n\r\nen=en_US"}, "en-gb", "en_GB"),
        ({"template_languages": "pt_BR=pt_BR"}, "pt-BR", "pt_BR"),
        ({"template_languages": "de=de", "template_language": "en_US"}, "uz", "en_US"),
    ],
)
def test_it_chooses_the_templates_language(build, server, settings, language, sent):
    server.script(cloud_api())
    build(**settings).send(whatsapp_message(language=language))
    assert server.requests[0].json()["template"]["language"] == {"code": sent}


def test_without_an_app_secret_acceptance_is_the_end(build, server):
    server.script(cloud_api())
    assert build(app_secret="", verify_token="").send(whatsapp_message()).is_delivered


def test_a_long_code_is_not_applicable(build, server):
    assert error_of(build(), whatsapp_message(code="1234567890123456")).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []
    server.script(cloud_api())
    assert build().send(whatsapp_message(code="123456789012345")).outcome is Outcome.ACCEPTED


# The answer


def test_it_keeps_the_status_of_the_answer(build, server):
    held = {"messages": [{"id": "wamid.1", "message_status": "held_for_quality_assessment"}]}
    server.script(fake.answer(200, held))
    assert build().send(whatsapp_message()).provider_status == "held_for_quality_assessment"


@pytest.mark.parametrize(
    "messages",
    [None, [], [{}], [None], [{"id": ""}], [{"id": 7}], {"id": "wamid.1"}, "wamid.1"],
)
def test_an_answer_without_an_id_is_unclear(build, server, messages):
    server.script(fake.answer(200, {"messages": messages}))
    assert error_of(build()).outcome is Outcome.UNCLEAR


@pytest.mark.parametrize(
    ("outcome", "codes"),
    [
        (Outcome.NO_ACCOUNT, [131026]),
        (Outcome.DECLINED, [130497]),
        (Outcome.RECIPIENT_LIMITED, [131056]),
        (Outcome.OUT_OF_FUNDS, [131042]),
        (Outcome.RATE_LIMITED, [4, 80007, 130429]),
        (Outcome.TEMPORARY, [131000, 131016, 131057, 135000]),
        (Outcome.REFUSED, [130472, 131021, 131049, 131062]),
        (Outcome.OPTED_OUT, [131050]),
        (Outcome.MISCONFIGURED, [0, 3, 10, 190, 200, 299, 368, 131005, 131008, 131031]),
        (Outcome.MISCONFIGURED, [131037, 131045, 131047, 131048, 131064, 132000, 132001, 132005, 132007, 132008]),
        (Outcome.MISCONFIGURED, [132012, 132015, 132016, 132068, 133010, 133016]),
    ],
)
def test_it_reads_an_error_by_its_number(build, server, outcome, codes):
    for code in codes:
        for number, http in ((code, 400), (str(code), 500)):
            server.script(whatsapp.error(number, http, error_data={"details": "to 998901234567"}, error_subcode=1))
            error = error_of(build())
            assert (error.outcome, error.provider_status) == (outcome, str(code))


@pytest.mark.parametrize(
    ("http", "more", "outcome"),
    [
        (400, {}, Outcome.DECLINED),
        (400, {"is_transient": True}, Outcome.TEMPORARY),
        (400, {"is_transient": "false"}, Outcome.DECLINED),
        (429, {"is_transient": True}, Outcome.RATE_LIMITED),
        (503, {"error_data": "a string"}, Outcome.TEMPORARY),
        (401, {}, Outcome.MISCONFIGURED),
    ],
)
def test_it_reads_an_unlisted_error(build, server, http, more, outcome):
    server.script(whatsapp.error(99999, http, **more))
    error = error_of(build())
    assert (error.outcome, error.provider_status) == (outcome, "99999")


@pytest.mark.parametrize("code", ["x", None, [], {}, 1e400, "9" * 5000])
def test_an_error_without_a_number_is_read_by_its_http_status(build, server, code):
    content = json.dumps({"error": {"code": code}}).replace("Infinity", "1e999").encode()
    server.script(fake.answer(400, content))
    assert error_of(build()).outcome is Outcome.DECLINED


def test_one_recipient_is_not_written_to_again_for_six_seconds(build, server):
    server.script(whatsapp.error(131056, 429))
    assert error_of(build()).retry_after == 6


def test_a_wrong_token_is_told(build, server):
    server.script(cloud_api())
    assert error_of(build(access_token="wrong-token")).provider_status == "190"


# Check


def test_check_asks_for_the_number(build, server):
    server.script(fake.answer(200, {"id": PHONE_NUMBER_ID, "verified_name": "Shop", "quality_rating": "GREEN"}))
    health = build().check()
    assert health.is_ok and "quality is green" in health.detail
    [request] = server.requests
    assert (request.method, request.target) == ("GET", f"/v23.0/{PHONE_NUMBER_ID}")


@pytest.mark.parametrize("answered", [{"id": "5"}, {}, [], {"id": None}])
def test_check_does_not_believe_another_answer(build, server, answered):
    server.script(fake.answer(200, answered))
    assert not build().check().is_ok


def test_check_tells_of_a_bad_token(build, server):
    server.script(whatsapp.error(190))
    with pytest.raises(ProviderError, match="expired or was revoked"):
        build().check()


def test_check_tells_of_a_service_that_is_away(build, server):
    adapter = build()
    server.__exit__()
    with pytest.raises(NotConnected):
        adapter.check()


# Verifying hooks


VECTOR_BODY = b'{"object":"whatsapp_business_account","entry":[]}'
VECTOR = "sha256=0ca28c0f1996234eb6829e59ad3c11a18161f6eb043943d601e420c312432cdf"


def test_it_accepts_the_known_signature(build):
    request = post(VECTOR_BODY, VECTOR)
    build().verify_hook(request)
    assert build().parse_hook(request).events == ()


@pytest.mark.parametrize(
    ("content", "signature"),
    [
        (VECTOR_BODY + b" ", VECTOR),
        (VECTOR_BODY, VECTOR[:-1] + "e"),
        (VECTOR_BODY, VECTOR.upper()),
        (VECTOR_BODY, ""),
        (VECTOR_BODY, "sha256="),
        (VECTOR_BODY, "sha256=é"),
        (VECTOR_BODY, sign(VECTOR_BODY, "other-secret")),
        (b"", VECTOR),
    ],
)
def test_it_refuses_a_forged_or_altered_call(build, content, signature):
    with pytest.raises(HookForged):
        build().verify_hook(post(content, signature))


def test_it_verifies_nothing_without_an_app_secret(build):
    with pytest.raises(HookForged):
        build(app_secret="", verify_token="").verify_hook(post(VECTOR_BODY, sign(VECTOR_BODY, "")))


def test_the_signature_covers_the_body_as_it_was_sent(build):
    content = b'{"entry":[],"name":"\\u00fc"}'
    build().verify_hook(post(content))
    with pytest.raises(HookForged):
        build().verify_hook(post(json.dumps(json.loads(content), ensure_ascii=False).encode(), sign(content)))


def test_it_shakes_hands(build):
    request = get(f"hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={VERIFY_TOKEN}")
    build().verify_hook(request)
    reply = build().parse_hook(request)
    assert (reply.status, reply.content_type, reply.body, reply.events) == (200, "text/plain", b"1158201444", ())


@pytest.mark.parametrize(
    "query",
    [
        "",
        "hub.mode=subscribe&hub.challenge=1&hub.verify_token=wrong",
        "hub.mode=subscribe&hub.challenge=1&hub.verify_token=",
        "hub.mode=subscribe&hub.challenge=1",
        f"hub.mode=unsubscribe&hub.challenge=1&hub.verify_token={VERIFY_TOKEN}",
        f"hub.challenge=1&hub.verify_token={VERIFY_TOKEN}",
        f"hub.mode=subscribe&hub.verify_token=é&hub.verify_token={VERIFY_TOKEN}",
        "&".join(["a=b"] * 100) + f"&hub.mode=subscribe&hub.verify_token={VERIFY_TOKEN}",
    ],
)
def test_it_shakes_no_stranger_s_hand(build, query):
    with pytest.raises(HookForged):
        build().verify_hook(get(query))


def test_it_shakes_no_hand_without_a_verify_token(build):
    with pytest.raises(HookForged):
        build(app_secret="", verify_token="").verify_hook(get("hub.mode=subscribe&hub.challenge=1&hub.verify_token="))


def test_a_challenge_is_a_plain_word(build):
    with pytest.raises(HookUnreadable):
        build().parse_hook(get("hub.challenge=%3Cscript%3E"))


# Reading hooks


@pytest.mark.parametrize(
    ("word", "ours"),
    [
        ("sent", ReceiptStatus.SENT),
        ("delivered", ReceiptStatus.SUCCESS),
        ("read", ReceiptStatus.SUCCESS),
        ("played", ReceiptStatus.SUCCESS),
        ("failed", ReceiptStatus.FAILED),
    ],
)
def test_it_reads_a_status(build, word, ours):
    [receipt] = receipts_of(build(), body(change(status(word))))
    assert (receipt.status, receipt.provider_message_id, receipt.message_id) == (ours, "wamid.HBgM1", 42)
    assert receipt.provider_status == word and not receipt.is_no_account


def test_one_call_carries_many_statuses(build):
    content = body(change(status("sent"), status("delivered")), change(status("read", id="wamid.2")))
    found = [(receipt.provider_message_id, receipt.status.value) for receipt in receipts_of(build(), content)]
    assert found == [("wamid.HBgM1", "sent"), ("wamid.HBgM1", "success"), ("wamid.2", "success")]


def test_it_reads_that_there_is_no_account(build):
    errors = [{"code": 131026, "title": "Message undeliverable", "error_data": {"details": "998901234567"}}]
    [receipt] = receipts_of(build(), body(change(status("failed", errors=errors))))
    assert (receipt.status, receipt.provider_status, receipt.is_no_account) == (ReceiptStatus.FAILED, "131026", True)
    assert receipt.error == "WhatsApp: the recipient cannot be reached on WhatsApp (error 131026)"


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        ([{"code": 131049, "title": "x"}], "WhatsApp: the message was withheld from this recipient (error 131049)"),
        ([{"code": "99999", "title": "New\n\x00thing"}], "WhatsApp: New  thing (error 99999)"),
        ([{"code": 99999, "title": "y" * 999}], f"WhatsApp: {'y' * 100} (error 99999)"),
        ([{"code": 99999}], "WhatsApp: not delivered (error 99999)"),
        ([{}], "WhatsApp could not deliver it."),
        ([], "WhatsApp could not deliver it."),
        ("gone", "WhatsApp could not deliver it."),
    ],
)
def test_it_tells_why_a_message_failed(build, errors, told):
    [receipt] = receipts_of(build(), body(change(status("failed", errors=errors))))
    assert receipt.error == told


def test_it_passes_over_other_numbers_and_fields(build):
    content = body(change(status("sent"), number="999"), change(status("sent"), field="account_update"))
    assert receipts_of(build(), content) == ()


@pytest.mark.parametrize("word", ["deleted", "warning", "", None, 5, []])
def test_it_passes_over_unknown_statuses(build, word):
    assert receipts_of(build(), body(change(status(word)))) == ()


@pytest.mark.parametrize("ours", ["x42", "", None, 42, "9" * 19, "-1", "٤٢"])
def test_an_id_that_is_not_ours_is_left_out(build, ours):
    [receipt] = receipts_of(build(), body(change(status("sent", ours=ours))))
    assert (receipt.message_id, receipt.provider_message_id) == (None, "wamid.HBgM1")


@pytest.mark.parametrize(
    "content",
    [
        b"{}",
        b'{"entry": 5}',
        b'{"entry": [null, {"changes": {"a": 1}}]}',
        b'{"entry": [{"changes": [{"field": "messages"}]}]}',
        b'{"entry": [{"changes": [{"field": "messages", "value": {"metadata": 1, "statuses": [{}]}}]}]}',
        body(change(None, "x", {}, {"status": "sent"}, {"status": "sent", "id": 5})),
    ],
)
def test_it_passes_over_what_holds_no_status(build, content):
    assert receipts_of(build(), content) == ()


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b'"x"', b"[" * 60_000, b"\xff", b"9" * 5000])
def test_it_does_not_read_garbage(build, content):
    with pytest.raises(HookUnreadable):
        build().parse_hook(post(content))
