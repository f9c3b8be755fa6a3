"""A Cloud API that looks at what it is given, and the status calls it makes."""

from __future__ import annotations

import hashlib
import hmac
import json

from tests.fakes import http_server as fake

TOKEN, APP_SECRET, VERIFY_TOKEN = "EAAtoken", "app-secret-1", "any-word"
PHONE_NUMBER_ID = "106540352242922"


def cloud_api(id="wamid.HBgM1"):
    """Answers as to the reference, after checks that the real one makes."""

    def behave(server, connection):
        request = server.requests[-1]
        return _judge(request, id)(server, connection)

    return behave


def error(code, status=400, **more):
    body = {"message": f"(#{code}) about +4915112345678", "type": "OAuthException", "code": code, "fbtrace_id": "A4"}
    return fake.answer(status, {"error": {**body, **more}})


def _judge(request, id):
    if request.headers.get("authorization") != f"Bearer {TOKEN}":
        return error(190, 401)
    body = request.json()
    text, button = body["template"]["components"]
    codes = {part["parameters"][0]["text"] for part in (text, button)}
    if len(codes) != 1 or len(codes.pop()) > 15 or (button["sub_type"], button["index"]) != ("url", "0"):
        return error(132012)
    answer = {
        "messaging_product": "whatsapp",
        "contacts": [{"input": body["to"], "wa_id": body["to"]}],
        "messages": [{"id": id}],
    }
    return fake.answer(200, answer)


def status(word, *, id="wamid.HBgM1", ours="42", **more):
    return {"id": id, "status": word, "timestamp": "1749416383", "biz_opaque_callback_data": ours, **more}


def change(*statuses, number=PHONE_NUMBER_ID, field="messages"):
    metadata = {"display_phone_number": "15550783881", "phone_number_id": number}
    value = {"messaging_product": "whatsapp", "metadata": metadata, "statuses": list(statuses)}
    return {"field": field, "value": value}


def body(*changes):
    entry = [{"id": "102290129340398", "changes": [each]} for each in changes]
    return json.dumps({"object": "whatsapp_business_account", "entry": entry}).encode()


def sign(content, secret=APP_SECRET):
    return "sha256=" + hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()
