"""The meaning of each error code and what a client should do: for the page of errors and the API's description."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from verification.api.permissions import HasSecretKey
from verification.api.serializers.errors import problem_address
from verification.core.errors import CATALOGUE
from verification.services.protection import limits


@dataclass(frozen=True, slots=True)
class Advice:
    """One code, explained. ``detail`` and ``extra`` are an example of what stands in the answer.

    ``detail`` is needed only for a code whose entry in the catalogue has none.
    """

    meaning: str
    remedy: str
    detail: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


GUIDE: dict[str, Advice] = {
    "parse_error": Advice(
        "The body is not JSON as the service reads it: broken, empty, not an object, nested deeper than five levels, "
        "or with a member name that appears twice.",
        "Mend the code that builds the request. The same body will be refused again.",
        "The body is not valid JSON (line 1, column 9).",
    ),
    "validation_error": Advice(
        "The request was read, but at least one field is missing, of the wrong type or not acceptable. "
        "Types are strict: a code is a string and never a number.",
        "Read `errors`: it names every wrong field with a stable code and one sentence. "
        "Where the field is `to`, tell the user that the number or address looks wrong.",
        "to: This phone number does not exist.",
        {"errors": [{"field": "to", "code": "invalid", "detail": "This phone number does not exist."}]},
    ),
    "invalid_code": Advice(
        "The code is not the one that was sent. The try is counted.",
        "Let the user type it again and say how many tries remain: `attempts_left`. At 0 the session is locked; "
        "offer to start again.",
        extra={"attempts_left": 4},
    ),
    "host_not_allowed": Advice(
        "The request came under a host name that this installation does not serve.",
        "Use the address that the operator gave you. As the operator, add the name to `ALLOWED_HOSTS`.",
    ),
    "missing_api_key": Advice(
        "There is no `x-api-key` header.",
        "Send the key in that header with every request. The key is looked at before anything else.",
    ),
    "invalid_api_key": Advice(
        "The key is unknown, expired or revoked, its project is switched off, or it is a secret key and the call came "
        "from outside the networks that the project allows. The answer is the same for all of these.",
        "Check that the whole key was copied, and that the project allows your server's address. If both are right, "
        "issue a new key. Do not retry with the same one.",
    ),
    "wrong_key_kind": Advice(
        "An API key was used where a secret key belongs, or the other way round.",
        "create, send, channels, check and settings of a session take an API key (`ww_api_…`); session/verify, the "
        "manual endpoints and events take a secret key (`ww_secret_…`), and only from your server.",
        HasSecretKey.otherwise,
    ),
    "challenge_required": Advice(
        "The project asks for a bot-protection challenge, always or of callers who look like bots, and the request "
        "has no `challenge_token`. Nothing was written or sent.",
        "Show the widget of the `provider` with `api_key` as its site key (for `altcha`: as its `challenge`), and send "
        "the same request again with what it makes as `challenge_token`.",
        extra={"provider": "turnstile", "api_key": "1x00000000000000000000AA"},
    ),
    "challenge_failed": Advice(
        "The `challenge_token` is wrong, too old, used before, or made on another page or for another project. "
        "Nothing was written or sent.",
        "Reset the widget, let the user solve a new challenge, and send its answer. An answer works once, and even a "
        "refused request may have used it up.",
    ),
    "recipient_not_allowed": Advice(
        "The address is well formed, but nothing is sent to it: for example a premium-rate number, or a landline "
        "where only SMS is offered. The answer does not say which rule it was.",
        "Ask the user for another number or address. Retrying does not help.",
    ),
    "not_found": Advice(
        "There is no endpoint at this address.",
        "Check the path. There is no version segment in it, and a slash at the end makes no difference.",
    ),
    "session_not_found": Advice(
        "No session of your project has this id. A session of another project looks the same.",
        "Create a new session. If this happens often, check that one environment's key is not used with another's "
        "sessions.",
    ),
    "message_not_found": Advice(
        "No manual send of your project has this id. Messages that belong to a session cannot be read here.",
        "Use the `message_id` exactly as manual/send returned it, with a key of the same project.",
    ),
    "verify_token_not_found": Advice(
        "The token was never issued to your project.",
        "Do not let the user in. Treat it as a failed login; somebody may be trying tokens of their own making.",
    ),
    "method_not_allowed": Advice(
        "The endpoint exists but not for this method. The `Allow` header lists the right one.",
        "Use the method in the documentation.",
        "DELETE is not served here. See the Allow header.",
    ),
    "channel_not_available": Advice(
        "The project has no such channel for this kind of recipient: it is not set up, it is switched off, or it does "
        "not fit, as SMS for an e-mail address.",
        "Offer only what session/channels or the `channels` of session/create list; for manual/send, manual/channels.",
        "The project has no active channel sms for e-mail addresses. See the list of channels.",
    ),
    "channel_not_active": Advice(
        "The channel is a messenger bot, and the user has not started it, so it may not write to them.",
        "Show `link`, which opens the bot, or offer another channel.",
        extra={"link": "https://messenger.example/bot"},
    ),
    "session_verified": Advice(
        "The session's code was already entered correctly. Each session can be used once.",
        "Go on with the verify token you received. If it was lost, create a new session.",
    ),
    "idempotency_conflict": Advice(
        "The `Idempotency-Key` was used in the last 24 hours with another body or under another secret key, or the "
        "first request with it is still at work after five seconds. Only then it carries `Retry-After`.",
        "Use a new key for every new message, and the same key only to repeat exactly the same request. With "
        "`Retry-After`, repeat the request after that time.",
    ),
    "session_expired": Advice(
        "The session's three minutes have passed.",
        "Create a new session; a new code goes out.",
    ),
    "verify_token_expired": Advice(
        "The verify token's 60 seconds have passed, or it was redeemed before. It works once.",
        "Do not let the user in on it. Have them verify again, and redeem the token as soon as your server gets it.",
    ),
    "body_too_large": Advice(
        "The request body is larger than 16 KiB.",
        "No request of this API needs as much. Send only the documented fields.",
        "The body is larger than 16384 bytes.",
    ),
    "unsupported_media_type": Advice(
        "The body is not announced as `application/json` in UTF-8, or it is compressed.",
        "Send `Content-Type: application/json` and an uncompressed body.",
        "The Content-Type must be application/json.",
    ),
    "channel_timeout": Advice(
        "A code went to this recipient over this channel within the last 60 seconds.",
        "Disable the button for `retry_after` seconds, or offer another channel. The code on its way stays valid.",
        extra={"retry_after": 42},
    ),
    "too_many_attempts": Advice(
        "Too many wrong codes. Without `retry_after` only this session is locked; with it, the recipient is, across "
        "all their sessions.",
        "Without `retry_after`, create a new session. With it, tell the user when to come back; no code goes out "
        "until then.",
        extra={"retry_after": 540},
    ),
    "too_many_sends": Advice(
        "Too many messages went to this recipient. Without `retry_after` it is this session's limit of five sends.",
        "With `retry_after`, wait that long. Without it, the last code is still valid until the session ends.",
        extra={"retry_after": 300},
    ),
    "rate_limited": Advice(
        "A limit is reached, and `detail` says which: requests of the client address, requests of the project in a "
        "second, unknown keys, wrong codes or failed challenges from the client address, or the channel's budget for "
        "the day.",
        "Wait for `retry_after` where it is given. A server that calls for many users should be listed among the "
        "project's server addresses.",
        limits.REQUESTS_USED_UP,
        {"retry_after": 1},
    ),
    "internal_error": Advice(
        "The service has a fault.",
        "Retry once. If it stays, give the operator the `request_id`, which finds the fault in the log.",
    ),
    "service_unavailable": Advice(
        "The database is away or busy for a moment, or the operator has stopped all sending. Nothing was accepted.",
        "Retry after `retry_after` seconds; nothing is done twice.",
        extra={"retry_after": 1},
    ),
    "challenge_unavailable": Advice(
        "The bot-protection provider does not answer within 3 seconds, or does not accept the project's own account. "
        "Nothing was written or sent.",
        "Try again later with the answer to a new challenge. As the owner, look at the keys on the project's page; the "
        "operator's log says what the provider answered. A project can choose to let callers in meanwhile.",
    ),
}

# The section of the guides that tells more of a code: the file under docs/ and the anchor of its heading.
FURTHER = {
    "parse_error": "integrate.md#errors-waiting-retrying",
    "validation_error": "integrate.md#errors-waiting-retrying",
    "invalid_code": "integrate.md#in-the-browser-or-the-app",
    "host_not_allowed": "operate.md#in-production",
    "missing_api_key": "integrate.md#what-proves-what",
    "invalid_api_key": "operate.md#keys",
    "wrong_key_kind": "integrate.md#what-proves-what",
    "challenge_required": "integrate.md#challenges",
    "challenge_failed": "integrate.md#challenges",
    "challenge_unavailable": "integrate.md#challenges",
    "recipient_not_allowed": "operate.md#who-may-be-sent-to",
    "not_found": "integrate.md#the-flow",
    "session_not_found": "integrate.md#the-flow",
    "message_not_found": "manual-sends.md#read-the-status",
    "verify_token_not_found": "integrate.md#on-your-server",
    "method_not_allowed": "integrate.md#the-flow",
    "channel_not_available": "delivery.md#providers-and-their-order",
    "channel_not_active": "testing.md#a-bot-that-has-to-be-started",
    "session_verified": "integrate.md#the-flow",
    "idempotency_conflict": "manual-sends.md#repeat-safely",
    "session_expired": "integrate.md#the-flow",
    "verify_token_expired": "integrate.md#on-your-server",
    "body_too_large": "integrate.md#errors-waiting-retrying",
    "unsupported_media_type": "integrate.md#errors-waiting-retrying",
    "channel_timeout": "integrate.md#errors-waiting-retrying",
    "too_many_attempts": "guard.md#guessing",
    "too_many_sends": "testing.md#suppressed-over-the-limit-guarded",
    "rate_limited": "integrate.md#errors-waiting-retrying",
    "internal_error": "runbook.md#watchworderrors",
    "service_unavailable": "operate.md#when-something-is-down",
}


@dataclass(frozen=True, slots=True)
class ErrorEntry:
    """A row of the page of errors."""

    code: str
    status: int
    title: str
    meaning: str
    remedy: str
    members: tuple[str, ...]

    @property
    def address(self) -> str:
        return problem_address("", self.code)

    @property
    def meaning_html(self) -> SafeString:
        return _with_code(self.meaning)

    @property
    def remedy_html(self) -> SafeString:
        return _with_code(self.remedy)


def _with_code(text: str) -> SafeString:
    """Make code elements of the parts in backticks."""
    return mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text)))  # noqa: S308  (escaped before)


def entries() -> list[ErrorEntry]:
    """List every code in the order of the catalogue, which is by status."""
    return [entry(code) for code in CATALOGUE]


def entry(code: str) -> ErrorEntry:
    """Return the entry of a code. Raises ``KeyError`` for one that there is not."""
    words, advice = CATALOGUE[code], GUIDE[code]
    return ErrorEntry(code, words.status, words.title, advice.meaning, advice.remedy, tuple(advice.extra))


def example(code: str, base_url: str) -> dict[str, Any]:
    """Return a problem document of this code, as it might be answered."""
    words, advice = CATALOGUE[code], GUIDE[code]
    return {
        "type": problem_address(base_url, code),
        "title": words.title,
        "status": words.status,
        "code": code,
        "detail": advice.detail or words.detail,
        "request_id": "5f0c6f0e4c9d4f7e9a63c1f2d8b7e014",
        **advice.extra,
    }
