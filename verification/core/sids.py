"""Ids as Twilio writes them: two letters for the kind, and 32 hexadecimal digits for the number of ours."""

from __future__ import annotations

import hashlib
import re

from verification.core import ids

ACCOUNT = "AC"  # the account that a customer's server logs in with: our project
KEY = "SK"  # an API key of that account: our secret key
SERVICE = "VA"  # a Verify service: again our project, which has one
VERIFICATION = "VE"  # our session
ATTEMPT = "VL"  # a message of a verification
DIGITS = 32

_SID = re.compile(rf"[A-Z]{{2}}[0-9a-f]{{{DIGITS}}}")


def of_project(kind: str, public_id: object) -> str:
    """Return the SID of a project, as an ``ACCOUNT`` or a ``SERVICE``."""
    return kind + str(public_id).replace("-", "")


def of_key(digest: bytes | memoryview) -> str:
    """Return the SID of a key, from its digest as it is stored. It tells neither the key nor the number of keys."""
    return KEY + hashlib.sha256(b"sid of a key:" + bytes(digest)).hexdigest()[:DIGITS]


def of_session(session_id: str) -> str:
    return _written(VERIFICATION, ids.number_of(session_id))


def of_message(message_id: int) -> str:
    return _written(ATTEMPT, message_id)


def session_id_of(sid: str) -> str | None:
    """Return the id of the session that a SID stands for, or None for a text that is no SID of a verification."""
    if not sid.startswith(VERIFICATION) or not _SID.fullmatch(sid):
        return None
    return ids.ulid(int(sid.removeprefix(VERIFICATION), 16))


def _written(kind: str, number: int) -> str:
    return f"{kind}{number:0{DIGITS}x}"
