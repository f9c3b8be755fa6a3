from __future__ import annotations

import base64

from providers.base import Outcome
from tests.fakes.hooks import JSON
from tests.fakes.http_server import answer
from tests.providers.vendors import Vendor, each, grouped


def refused(code):
    return answer(400, {"error-code": int(code), "error-description": "about 4915112345678"})


VENDOR = Vendor(
    type="playmobile",
    settings={"base_url": "https://send.example.uz", "username": "shop", "password": "hush-hush", "sender": "3700"},
    secrets="password",
    wrong={
        "base_url": ["", "http://send.example.uz", "https://send.example.uz?x"],
        "username": ["a:b"],
        "password": [""],
        "sender": [""],
        "id_prefix": ["a b"],
    },
    taken=answer(200, b"Request is received"),
    sends=[
        (
            {"id_prefix": "our"},
            {"to": "+998901234567"},
            {
                "method": "POST",
                "target": "/broker-api/send",
                "header authorization": "Basic " + base64.b64encode(b"shop:hush-hush").decode(),
                "header content-type": JSON,
                "body": b'{"messages":[{"recipient":"998901234567","message-id":"our42",'
                b'"sms":{"originator":"3700","content":{"text":"Your code is 4711"}}}]}',
                "provider_message_id": "our42",
                "is_delivered": True,  # no receipt will follow
            },
        ),
        ({}, {"sender": "Shop"}, {"messages.0.sms.originator": "Shop"}),
        ({}, {}, {}, answer(200, b"Request is received\r\n")),
        ({}, {}, {}, answer(200, b"request is received")),
    ],
    not_applicable=[({"text": ""},)],
    refusals=[
        *grouped(
            {
                Outcome.TEMPORARY: "100",
                Outcome.MISCONFIGURED: "101 102 105 206 301 306 401 404 411",
                Outcome.REFUSED: "202",
            },
            refused,
        ),
        (refused(999), Outcome.DECLINED, "400"),
        *each([answer(200, body) for body in (b"", b"Request is received not", b"{}", b"OK")], Outcome.UNCLEAR),
    ],
)


def test_check_tries_the_way_only(server):
    assert "can be reached" in VENDOR.build(server).check().detail
    assert server.requests == []
