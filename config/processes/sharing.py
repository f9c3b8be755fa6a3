"""Whose place in the line of a web process a request takes, read from the request as it came."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Hashable
from urllib.parse import unquote_to_bytes

from config.processes.request import Request
from verification.services.projects import keys

API_KEY = b"x-api-key"
AUTHORIZATION, BASIC = b"authorization", b"basic "  # by which servers that were written for Twilio show their key
MAX_CREDENTIALS = 512  # bytes of that header which are read: four times what a SID and a key take
MAX_PATH = 64  # bytes of a path that are looked at: more than its first part has
# The first parts of the paths at which each way of showing a key is looked at. Elsewhere a key is not read, and would
# make a caller of its own of each request to a page that costs much, such as the login.
BY_API_KEY, BY_PASSWORD = (b"session", b"manual", b"events"), b"v2"
WITHOUT_KEY = b"session/challenge"  # hands out puzzles to everybody

# The member of a body by which it names a recipient. A session's requests lock the recipient's row as well.
SUBJECT = re.compile(rb'"(?:to|session_id)"\s*+:\s*+"([^"\\]{1,320}+)"')  # characters: an e-mail address has 320
SEPARATORS = b" ()-./\t"  # between the digits of one number as people write it


def caller_of(request: Request) -> Hashable:
    """Return who shares the threads with others: the key's project, else the first part of the path.

    A key that this process has not met lately stands for itself, so nothing is asked here. Requests with keys that do
    not exist cost little, and are limited by address.
    """
    path = _path_of(request.target)
    part = path.partition(b"/")[0]
    if part in BY_API_KEY and not path.startswith(WITHOUT_KEY) and (key := _key_of(request)):
        return keys.known_project(key.decode("latin-1")) or key
    if part == BY_PASSWORD and (password := _password_of(request)):
        return keys.known_project(password) or part
    return part


def turn_of(request: Request) -> Hashable:
    """Return the recipient or the session that a request of the API names, as it was written; None for most others.

    It is read without care: a wrong turn lets a request wait for another, or for the row, and changes no answer.
    """
    if not request.body or not _key_of(request):
        return None
    found = SUBJECT.search(request.body)
    return bytes(found[1]).translate(None, SEPARATORS).lower() if found else None


def _path_of(target: bytes) -> bytes:
    """Return the beginning of the path without its slash, however the target is written.

    ``/%61dmin/`` leads where ``/admin/`` does, and so does ``http://host/admin/``, as a client asks a proxy.
    """
    if not target.startswith(b"/"):
        target = target.partition(b"://")[2].partition(b"/")[2]
    path = target[:MAX_PATH].partition(b"?")[0]
    return unquote_to_bytes(path).lstrip(b"/")


def _key_of(request: Request) -> bytes:
    for name, value in request.headers:
        if name == API_KEY:
            return value
    return b""


def _password_of(request: Request) -> str:
    """Return the password of Basic authentication, which is a secret key on Twilio's paths, or nothing."""
    for name, value in request.headers:
        if name == AUTHORIZATION and value[: len(BASIC)].lower() == BASIC and len(value) <= MAX_CREDENTIALS:
            try:
                return base64.b64decode(value[len(BASIC) :]).decode().partition(":")[2]
            except (binascii.Error, UnicodeDecodeError):
                return ""
    return ""
