from __future__ import annotations

import json

from providers.base import HookRequest, Outcome, ReceiptStatus
from providers.errors import HookUnreadable
from tests.fakes import http_server as fake
from tests.fakes import whatsapp
from tests.fakes.hooks import JSON, call, receipts_of
from tests.fakes.messages import HOOK_URL, error_of
from tests.fakes.whatsapp import APP_SECRET, PHONE_NUMBER_ID, TOKEN, VERIFY_TOKEN, body, change, cloud_api, sign, status
from tests.providers.vendors import Vendor, each

VECTOR_BODY = b'{"object":"whatsapp_business_account","entry":[]}'
VECTOR = "sha256=0ca28c0f1996234eb6829e59ad3c11a18161f6eb043943d601e420c312432cdf"
UNSIGNED = {"app_secret": "", "verify_token": ""}
LANGUAGES = {"template_languages": "de=de\nen=en_US"}
ID = "wamid.HBgM1"
ESCAPED = b'{"entry":[],"name":"\\u00fc"}'


def post(content, signature=None):
    return call(content, x_hub_signature_256=sign(content) if signature is None else signature)


def get(query):
    return HookRequest("GET", HOOK_URL, query, {}, b"")


def refused(code, http=400):
    return whatsapp.error(code, http, error_data={"details": "to 998901234567"}, error_subcode=1)


def failed(errors):
    return body(change(status("failed", errors=errors)))


def numberless(code):
    return fake.answer(400, json.dumps({"error": {"code": code}}).replace("Infinity", "1e999").encode())


ERRORS = {
    Outcome.NO_ACCOUNT: "131026",
    Outcome.DECLINED: "100 130497 131009 131030",
    Outcome.RECIPIENT_LIMITED: "131056",
    Outcome.OUT_OF_FUNDS: "131042",
    Outcome.RATE_LIMITED: "4 80007 130429",
    Outcome.TEMPORARY: "131000 131016 131057 135000",
    Outcome.REFUSED: "130472 131021 131049 131062",
    Outcome.OPTED_OUT: "131050",
    Outcome.MISCONFIGURED: "0 3 10 190 200 299 368 131005 131008 131031 131037 131045 131047 131048 131064 132000"
    " 132001 132005 132007 132008 132012 132015 132016 132068 133010 133016",
}

VENDOR = Vendor(
    type="whatsapp_cloud",
    settings={
        "access_token": TOKEN,
        "phone_number_id": PHONE_NUMBER_ID,
        "template_name": "verification_code",
        "app_secret": APP_SECRET,
        "verify_token": VERIFY_TOKEN,
    },
    secrets="access_token app_secret verify_token",
    defaults={"base_url": "https://graph.facebook.com", "api_version": "v23.0"},
    wrong={
        "access_token": [""],
        "phone_number_id": ["", "+4915112345678", "1/2"],
        "template_name": [""],
        "template_languages": ["en", "=en_US"],
        "api_version": ["23", "v23.0/x"],
        "verify_token": ["", {"app_secret": ""}],
        "base_url": ["http://graph.facebook.com"],
    },
    message={"channel": "messenger_b", "to": "+998901234567", "code": "123456"},
    taken=cloud_api(),
    sends=[
        (
            {"template_language": "en_US"},
            {},
            {
                "method": "POST",
                "target": f"/v23.0/{PHONE_NUMBER_ID}/messages",
                "header authorization": f"Bearer {TOKEN}",
                "header content-type": JSON,
                "body": b'{"messaging_product":"whatsapp","recipient_type":"individual","to":"998901234567",'
                b'"type":"template","biz_opaque_callback_data":"42","template":{"name":"verification_code",'
                b'"language":{"code":"en_US"},"components":[{"type":"body","parameters":[{"type":"text",'
                b'"text":"123456"}]},{"type":"button","sub_type":"url","index":"0","parameters":[{"type":"text",'
                b'"text":"123456"}]}]}}',
                "provider_message_id": ID,
                "is_delivered": False,
            },
        ),
        *[
            (settings, {"language": language}, {"template.language": {"code": sent}})
            for settings, language, sent in [
                ({}, "de", "de"),
                ({}, "pt-BR", "pt_BR"),
                (LANGUAGES, "en", "en_US"),
                (LANGUAGES, "en-GB", "en_US"),
                ({"template_languages": "en-GB = en_GB\r\n\r\nen=en_US"}, "en-gb", "en_GB"),
                ({"template_languages": "pt_BR=pt_BR"}, "pt-BR", "pt_BR"),
                ({"template_languages": "de=de", "template_language": "en_US"}, "uz", "en_US"),
            ]
        ],
        (UNSIGNED, {}, {"is_delivered": True}),
        ({}, {"code": "123456789012345"}, {}),
        (
            {},
            {},
            {"provider_status": "held_for_quality_assessment"},
            fake.answer(200, {"messages": [{"id": "wamid.1", "message_status": "held_for_quality_assessment"}]}),
        ),
    ],
    not_applicable=[({"code": "1234567890123456"},)],
    refusals=[
        *[
            (made, outcome, code)
            for outcome, codes in ERRORS.items()
            for code in codes.split()
            for made in (refused(int(code)), refused(code, 500))
        ],
        (whatsapp.error(131056, 429), Outcome.RECIPIENT_LIMITED, "131056", {"retry_after": 6}),
        *[
            (whatsapp.error(99999, http, **more), outcome, "99999")
            for http, more, outcome in [
                (400, {}, Outcome.DECLINED),
                (400, {"is_transient": True}, Outcome.TEMPORARY),
                (400, {"is_transient": "false"}, Outcome.DECLINED),
                (429, {"is_transient": True}, Outcome.RATE_LIMITED),
                (503, {"error_data": "a string"}, Outcome.TEMPORARY),
                (401, {}, Outcome.MISCONFIGURED),
            ]
        ],
        *each([numberless(code) for code in ("x", None, [], {}, 1e400, "9" * 5000)], Outcome.DECLINED),
        *[
            (fake.answer(200, {"messages": messages}), Outcome.UNCLEAR)
            for messages in (None, [], [{}], [None], [{"id": ""}], [{"id": 7}], {"id": "wamid.1"}, "wamid.1")
        ],
    ],
    check_request=f"GET /v23.0/{PHONE_NUMBER_ID}",
    checks=[
        (fake.answer(200, {"id": PHONE_NUMBER_ID, "quality_rating": "GREEN"}), True, "quality is green"),
        *each([fake.answer(200, told) for told in ({"id": "5"}, {}, [], {"id": None})], False),
        (whatsapp.error(190), Outcome.MISCONFIGURED, "expired or was revoked"),
    ],
    sign=post,
    genuine=[
        (post(VECTOR_BODY, VECTOR),),
        (post(ESCAPED),),
        (get(f"hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={VERIFY_TOKEN}"),),
    ],
    forged=[
        (post(VECTOR_BODY + b" ", VECTOR),),
        *[
            (post(VECTOR_BODY, signature),)
            for signature in (VECTOR[:-1] + "e", VECTOR.upper(), "", "sha256=", "sha256=é")
        ],
        (post(VECTOR_BODY, sign(VECTOR_BODY, "other-secret")),),
        (post(b"", VECTOR),),
        (post(VECTOR_BODY, sign(VECTOR_BODY, "")), UNSIGNED),
        (post(json.dumps(json.loads(ESCAPED), ensure_ascii=False).encode(), sign(ESCAPED)),),
        *[
            (get(query),)
            for query in [
                "",
                "hub.mode=subscribe&hub.challenge=1&hub.verify_token=wrong",
                "hub.mode=subscribe&hub.challenge=1&hub.verify_token=",
                "hub.mode=subscribe&hub.challenge=1",
                f"hub.mode=unsubscribe&hub.challenge=1&hub.verify_token={VERIFY_TOKEN}",
                f"hub.challenge=1&hub.verify_token={VERIFY_TOKEN}",
                f"hub.mode=subscribe&hub.verify_token=é&hub.verify_token={VERIFY_TOKEN}",
                "&".join(["a=b"] * 100) + f"&hub.mode=subscribe&hub.verify_token={VERIFY_TOKEN}",
            ]
        ],
        (get("hub.mode=subscribe&hub.challenge=1&hub.verify_token="), UNSIGNED),
    ],
    reports=[
        *[
            (
                body(change(status(word))),
                {
                    "status": ours,
                    "provider_message_id": ID,
                    "message_id": 42,
                    "provider_status": word,
                    "is_no_account": False,
                },
            )
            for word, ours in [
                ("sent", ReceiptStatus.SENT),
                ("delivered", ReceiptStatus.SUCCESS),
                ("read", ReceiptStatus.SUCCESS),
                ("played", ReceiptStatus.SUCCESS),
                ("failed", ReceiptStatus.FAILED),
            ]
        ],
        (
            failed([{"code": 131026, "title": "Message undeliverable", "error_data": {"details": "998901234567"}}]),
            {
                "status": ReceiptStatus.FAILED,
                "provider_status": "131026",
                "is_no_account": True,
                "error": "WhatsApp: the recipient cannot be reached on WhatsApp (error 131026)",
            },
        ),
        (failed([{"code": 131050}]), {"is_opted_out": True, "provider_status": "131050"}),
        *[
            (failed(errors), {"error": told})
            for errors, told in [
                (
                    [{"code": 131049, "title": "x"}],
                    "WhatsApp: the message was withheld from this recipient (error 131049)",
                ),
                ([{"code": "99999", "title": "New\n\x00thing"}], "WhatsApp: New  thing (error 99999)"),
                ([{"code": 99999, "title": "y" * 999}], f"WhatsApp: {'y' * 100} (error 99999)"),
                ([{"code": 99999}], "WhatsApp: not delivered (error 99999)"),
                ([{}], "WhatsApp could not deliver it."),
                ([], "WhatsApp could not deliver it."),
                ("gone", "WhatsApp could not deliver it."),
            ]
        ],
        (body(change(status("sent"), number="999"), change(status("sent"), field="account_update")), ()),
        *[(body(change(status(word))), ()) for word in ("deleted", "warning", "", None, 5, [])],
        *[
            (body(change(status("sent", ours=ours))), {"message_id": None, "provider_message_id": ID})
            for ours in ("x42", "", None, 42, "9" * 19, "-1", "٤٢")
        ],
        *each(
            [
                VECTOR_BODY,
                b"{}",
                b'{"entry": 5}',
                b'{"entry": [null, {"changes": {"a": 1}}]}',
                b'{"entry": [{"changes": [{"field": "messages"}]}]}',
                b'{"entry": [{"changes": [{"field": "messages", "value": {"metadata": 1, "statuses": [{}]}}]}]}',
                body(change(None, "x", {}, {"status": "sent"}, {"status": "sent", "id": 5})),
            ],
            (),
        ),
        *each([b"", b"<html>", b"[]", b'"x"', b"\xff", b"9" * 5000], HookUnreadable),
        (get("hub.challenge=%3Cscript%3E"), HookUnreadable),
    ],
)


def test_one_call_carries_many_statuses(server):
    content = body(change(status("sent"), status("delivered")), change(status("read", id="wamid.2")))
    found = receipts_of(VENDOR.build(server), post(content))
    assert [(receipt.provider_message_id, receipt.status.value) for receipt in found] == [
        (ID, "sent"),
        (ID, "success"),
        ("wamid.2", "success"),
    ]


def test_a_wrong_token_is_told(server):
    server.script(cloud_api())
    assert error_of(VENDOR.build(server, access_token="wrong-token"), VENDOR.make_message()).provider_status == "190"


def test_it_shakes_hands(server):
    request = get(f"hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={VERIFY_TOKEN}")
    reply = VENDOR.build(server).parse_hook(request)
    assert (reply.status, reply.content_type, reply.body, reply.events) == (200, "text/plain", b"1158201444", ())
