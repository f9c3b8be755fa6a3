"""A Twilio that honours the magic numbers of its test credentials, and signs what it reports."""

from __future__ import annotations

import base64
import hmac
from urllib.parse import parse_qs, urlencode

from tests.fakes import http_server as fake

ACCOUNT, TOKEN = "AC" + "0" * 32, "12345"
SMS_SID, CALL_SID = "SM0123456789abcdef0123456789abcdef", "CA0123456789abcdef0123456789abcdef"

MAGIC = "+1500555000"
VALID_FROM = MAGIC + "6"
SMS_TO = {"1": 21211, "2": 21612, "3": 21408, "4": 21610, "9": 21614}
SMS_FROM = {"1": 21212, "7": 21606, "8": 21611}
CALL_TO = {"1": 21217, "2": 21214, "3": 21215, "4": 21216}


def twilio():
    def behave(server, connection):
        return _judge(server.requests[-1])(server, connection)

    return behave


def error(code, status=400):
    body = {
        "code": code,
        "message": "about +4915112345678",
        "more_info": "https://www.twilio.com/docs",
        "status": status,
    }
    return fake.answer(status, body)


def _judge(request):
    login = "Basic " + base64.b64encode(f"{ACCOUNT}:{TOKEN}".encode()).decode()
    if request.headers.get("authorization") != login:
        return error(20003, 401)
    form = {name: values[0] for name, values in parse_qs(request.body.decode(), strict_parsing=True).items()}
    is_call = request.target.endswith("/Calls.json")
    code = _refusal(form, is_call)
    if code:
        return error(code)
    if is_call:
        return fake.answer(201, {"sid": CALL_SID, "status": "queued"})
    status = "accepted" if "MessagingServiceSid" in form else "queued"
    return fake.answer(201, {"sid": SMS_SID, "status": status, "error_code": None, "num_segments": "1"})


def _refusal(form, is_call):
    to, sender = form["To"], form.get("From", VALID_FROM)
    by_to = CALL_TO if is_call else SMS_TO
    if sender != VALID_FROM and "MessagingServiceSid" not in form:
        return 21210 if is_call else SMS_FROM.get(sender[-1], 21606)
    return by_to.get(to.removeprefix(MAGIC), 0)


def sign(url, fields, secret=TOKEN, digest="sha1"):
    """``fields`` as pairs. Written on its own, after the description."""
    different = sorted(set(fields))
    text = url + "".join(name + value for name, value in different)
    return base64.b64encode(hmac.digest(secret.encode(), text.encode(), digest)).decode()


def body(fields):
    return urlencode(fields).encode()
