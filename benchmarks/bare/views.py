"""Create, check and verify with nothing around the SQL function: no keys, no checks, no limits, no wake-up.

The code of every session is the same, so that the driver can check it though nothing is ever sent.
"""

from __future__ import annotations

import json
import os
import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path

from verification import sql
from verification.core import ids
from verification.core.crypto import code_digest, stored_digest
from verification.core.session_rules import SESSION_SECONDS

PROJECT = int(os.environ.get("BENCHMARK_PROJECT", "0"))
CODE = "123456"
SEALED_CODE = bytes(39)  # as long as a sealed code is
TERMS = sql.Jsonb(
    {
        "language": "en",
        "draws_new_code": False,
        "sends": {"windows": [{"seconds": 86_400, "limit": 20}], "seconds": 86_400, "rows": 20},
        "wrong_codes": {"windows": [{"seconds": 86_400, "limit": 20}], "seconds": 86_400, "rows": 20},
        "strangers": {"assumed": 0},
        "budgets": {},
        "waits": {},
        "messengers": {},
        "platform_sms_a_day": 0,
    }
)

NO_ORIGIN: dict[str, Any] = {"request": None, "caller_request": "", "subnet": ""}


def create(request: HttpRequest) -> HttpResponse:
    fields = json.loads(request.body)
    session_id = ids.generate_session_id()
    row = sql.call(
        "open_session",
        project=PROJECT,
        address=fields["to"],
        forgotten="",
        session=session_id,
        code_digest=code_digest(CODE, session_id=session_id),
        code_encrypted=SEALED_CODE,
        code_length=len(CODE),
        code_digits=True,
        code_letters=False,
        attempts_max=5,
        link_payload="",
        lives_seconds=SESSION_SECONDS,
        language=None,
        test_login=None,
        challenge=None,
        send=True,
        type=fields["type"],
        channels=["sms"],
        message=ids.generate_message_id(),
        terms=TERMS,
        guard=None,
        **NO_ORIGIN,
    )
    return _answer({"session_id": row.session_id, "session_expired_at": str(row.expires_at), "sent_to": row.sent_to})


def check(request: HttpRequest) -> HttpResponse:
    fields = json.loads(request.body)
    token = str(uuid.uuid4())
    row = sql.call(
        "spend_attempt",
        project=PROJECT,
        session=fields["session_id"],
        code_digest=code_digest(fields["code"], session_id=fields["session_id"]),
        token_digest=stored_digest(token, kind="verify token"),
        token_seconds=60,
        terms=TERMS,
        network="",
        guess=None,
        **NO_ORIGIN,
    )
    return _answer({"verify_token": token, "is_test": row.is_test}, 200 if row.outcome == "verified" else 400)


def verify(request: HttpRequest) -> HttpResponse:
    token = json.loads(request.body)["verify_token"]
    row = sql.call(
        "redeem_verify_token",
        project=PROJECT,
        digest=stored_digest(token, kind="verify token"),
        key=None,
        request=None,
        caller_request="",
    )
    return _answer({"phone": row.address}, 200 if row.outcome == "redeemed" else 400)


def _answer(data: dict[str, Any], status: int = 200) -> HttpResponse:
    return HttpResponse(json.dumps(data), status=status, content_type="application/json")


urlpatterns = [
    path("session/create", create),
    path("session/check", check),
    path("session/verify", verify),
]
