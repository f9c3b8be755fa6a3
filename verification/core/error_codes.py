"""All error codes of the API, each declared once: what its answers say, what it means, and what a client should do.

The page of errors, the API's description, the clients and the endpoints for Twilio's libraries read this table. A test
compares what cannot: the form's sentences in ``packages/watchword-verify/src/words.js``. The rules behind a refusal,
for owners, are in ``services/records/decisions.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from verification.core.session_rules import CHANNEL_BLOCK_SECONDS, VERIFY_TOKEN_SECONDS


class TwilioError(NamedTuple):
    """What Twilio's libraries are told instead: Twilio's HTTP status, code and words."""

    status: int
    code: int
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSpec:
    """One error code. ``meaning`` and ``remedy`` are for the page of errors, where backticks mark code.

    ``detail`` is the usual sentence of an answer, empty where each place that refuses has one of its own. Such a code
    has an ``example`` of one instead. ``extra`` is an example of its further members. ``further`` is the section of
    the guides that tells more: the file under docs/ and the anchor of its heading. ``twilio`` is None for a code to
    which no call of those endpoints leads.
    """

    status: int
    title: str
    meaning: str
    remedy: str
    further: str
    detail: str = ""
    example: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    twilio: TwilioError | None = None


_INVALID_PARAMETER = TwilioError(400, 60200, "Invalid parameter")
_AUTHENTICATE = TwilioError(401, 20003, "Authenticate")
_NOT_FOUND = TwilioError(404, 20404, "The requested resource was not found")
TWILIO_INTERNAL_ERROR = TwilioError(500, 20500, "Internal server error")  # also where no code of theirs is declared
_CHANNEL_DISABLED = TwilioError(400, 60223, "Delivery channel disabled")

CATALOGUE: dict[str, ErrorSpec] = {
    "parse_error": ErrorSpec(
        status=400,
        title="The request body cannot be read",
        example="The body is not valid JSON (line 1, column 9).",
        meaning=(
            "The service cannot read the body as JSON: it is broken, empty, not an object, nested deeper than five "
            "levels, or repeats a member name."
        ),
        remedy="Fix the code that builds the request. Retrying the same body fails again.",
        further="integrate.md#errors-waiting-retrying",
        twilio=_INVALID_PARAMETER,
    ),
    "validation_error": ErrorSpec(
        status=400,
        title="A field is wrong",
        example="to: We know of no such phone number.",
        extra={"errors": [{"field": "to", "code": "invalid", "detail": "We know of no such phone number."}]},
        meaning=(
            "The request is valid JSON, but at least one field is missing, has the wrong type or an unacceptable "
            "value. Types are strict: a code is a string and never a number."
        ),
        remedy=(
            "Read `errors`: it names every wrong field with a stable code and one sentence. If the field is `to`, tell "
            "the user that the number or address looks wrong."
        ),
        further="integrate.md#errors-waiting-retrying",
        twilio=_INVALID_PARAMETER,
    ),
    "invalid_code": ErrorSpec(
        status=400,
        title="The code is wrong",
        detail="The code is wrong.",
        extra={"attempts_left": 4},
        meaning="The code is not the one that was sent. It counts as an attempt.",
        remedy=(
            "Let the user type it again, and show how many attempts remain: `attempts_left`. At 0 the session is "
            "locked; offer to start again."
        ),
        further="integrate.md#in-the-browser-or-the-app",
    ),
    "host_not_allowed": ErrorSpec(
        status=400,
        title="This host name is not served here",
        detail="This host name is not served here.",
        meaning="The request used a host name that this installation does not serve.",
        remedy="Use the URL that the operator gave you. As the operator, add the name to `ALLOWED_HOSTS`.",
        further="operate.md#in-production",
    ),
    "missing_api_key": ErrorSpec(
        status=401,
        title="The x-api-key header is missing",
        detail="Send your key in the x-api-key header.",
        meaning="The request has no `x-api-key` header.",
        remedy="Send the key in that header with every request. The key is checked before anything else.",
        further="integrate.md#what-proves-what",
        twilio=_AUTHENTICATE,
    ),
    "invalid_api_key": ErrorSpec(
        status=401,
        title="The key is not valid",
        detail="The key is unknown, expired or revoked.",
        meaning=(
            "The key is unknown, expired or revoked, its project is off, or it is a secret key and the request came "
            "from outside the networks that the project allows. The answer is the same for all of these."
        ),
        remedy=(
            "Check that you copied the complete key, and that the project allows your server's IP address. If both are "
            "right, create a new key. Do not retry with the same one."
        ),
        further="operate.md#keys",
        twilio=_AUTHENTICATE,
    ),
    "wrong_key_kind": ErrorSpec(
        status=403,
        title="The key is of the wrong kind for this endpoint",
        example="This is an API key; the endpoint takes a secret key (ww_secret_...), and only from your server.",
        meaning="The request used an API key where a secret key is needed, or the other way round.",
        remedy=(
            "create, send, channels, delivery, check and settings of a session need an API key (`ww_api_…`). "
            "session/verify, session records, the manual endpoints and events need a secret key (`ww_secret_…`), which "
            "only your server may have."
        ),
        further="integrate.md#what-proves-what",
        twilio=_AUTHENTICATE,
    ),
    "challenge_required": ErrorSpec(
        status=403,
        title="A challenge must be solved first",
        detail="Solve the challenge and send its answer as challenge_token.",
        extra={"provider": "turnstile", "api_key": "1x00000000000000000000AA"},
        meaning=(
            "The project requires a bot-protection challenge, from every caller or from callers who look like bots, "
            "and the request has no `challenge_token`. Nothing was written or sent."
        ),
        remedy=(
            "Show the widget of the `provider` with `api_key` as its site key (for `altcha`: as its `challenge`). Then"
            " repeat the request with the widget's answer as `challenge_token`."
        ),
        further="integrate.md#challenges",
    ),
    "challenge_failed": ErrorSpec(
        status=403,
        title="The challenge was not passed",
        detail="The challenge was not passed. Solve a new one.",
        meaning=(
            "The `challenge_token` is wrong, too old, already used, or from another page or project. Nothing was "
            "written or sent."
        ),
        remedy=(
            "Reset the widget, let the user solve a new challenge, and send its answer. Each answer works once, and "
            "even a refused request may have used it."
        ),
        further="integrate.md#challenges",
    ),
    "recipient_not_allowed": ErrorSpec(
        status=403,
        title="Nothing can be sent to this recipient",
        detail="Nothing can be sent to this recipient.",
        meaning=(
            "The number or address is valid, but a rule refuses to send to it: for example a premium-rate number, or a "
            "landline if the project offers only SMS. The answer does not say which rule."
        ),
        remedy="Ask the user for another number or address. Retrying does not help.",
        further="operate.md#who-may-be-sent-to",
        twilio=TwilioError(403, 60410, "Verification delivery attempt blocked"),
    ),
    "not_found": ErrorSpec(
        status=404,
        title="There is nothing here",
        detail="There is nothing at this address.",
        meaning="There is no endpoint at this address.",
        remedy="Check the path. It has no version segment, and a slash at the end makes no difference.",
        further="integrate.md#the-flow",
        twilio=_NOT_FOUND,
    ),
    "session_not_found": ErrorSpec(
        status=404,
        title="There is no such session",
        detail="There is no session with this id.",
        meaning="No session of your project has this id. A session of another project looks the same.",
        remedy=(
            "Create a new session. If this happens often, check that you do not use the key of one environment with"
            " sessions of another."
        ),
        further="integrate.md#the-flow",
        twilio=_NOT_FOUND,
    ),
    "message_not_found": ErrorSpec(
        status=404,
        title="There is no such message",
        detail="There is no message with this id.",
        meaning=("No manual send of your project has this id. Messages that belong to a session cannot be read here."),
        remedy="Use the `message_id` exactly as manual/send returned it, with a key of the same project.",
        further="manual-sends.md#read-the-status",
    ),
    "verify_token_not_found": ErrorSpec(
        status=404,
        title="There is no such verify token",
        detail="There is no verify token with this value.",
        meaning="The token was never issued to your project.",
        remedy=("Do not let the user in. Treat it as a failed login; someone may be trying invented tokens."),
        further="integrate.md#on-your-server",
    ),
    "method_not_allowed": ErrorSpec(
        status=405,
        title="The method is not allowed here",
        example="DELETE is not served here. See the Allow header.",
        meaning="The endpoint exists, but not for this method. The `Allow` header lists the right one.",
        remedy="Use the documented method.",
        further="integrate.md#the-flow",
        twilio=TwilioError(405, 20004, "Method not allowed"),
    ),
    "channel_not_available": ErrorSpec(
        status=409,
        title="The channel is not available",
        example="The project has no active channel sms for e-mail addresses. See the list of channels.",
        meaning=(
            "The project has no such channel for this recipient: it is not set up, it is off, or it does not fit, such "
            "as SMS for an e-mail address."
        ),
        remedy=(
            "Offer only the channels that session/channels or session/create returns; for manual/send, those of "
            "manual/channels."
        ),
        further="delivery.md#providers-and-their-order",
        twilio=_CHANNEL_DISABLED,
    ),
    "channel_not_active": ErrorSpec(
        status=409,
        title="The user has not started this messenger's bot",
        detail="The user has to start this messenger's bot first; the code goes out as soon as they do.",
        extra={"link": "https://messenger.example/bot"},
        meaning="The channel is a messenger bot that the user has not started, so the bot cannot write to them.",
        remedy="Show `link`, which opens the bot, or offer another channel.",
        further="testing.md#a-bot-that-has-to-be-started",
        twilio=_CHANNEL_DISABLED,
    ),
    "session_verified": ErrorSpec(
        status=409,
        title="The session's code was already used",
        detail="The session's code was already used. Create a new session.",
        meaning="The session's code was already entered correctly. Each session can be used once.",
        remedy="Continue with the verify token that you received. If you lost it, create a new session.",
        further="integrate.md#the-flow",
        twilio=_NOT_FOUND,
    ),
    "idempotency_conflict": ErrorSpec(
        status=409,
        title="The Idempotency-Key was used for another request",
        detail=("This Idempotency-Key was used with another body or secret key. Take a new one for a new message."),
        meaning=(
            "The `Idempotency-Key` was used in the last 24 hours with another body or another secret key, or the first "
            "request with it has not finished after five seconds. Only in the second case does the answer have "
            "`Retry-After`."
        ),
        remedy=(
            "Use a new key for every new message, and the same key only to repeat exactly the same request. With "
            "`Retry-After`, repeat the request after that time."
        ),
        further="manual-sends.md#repeat-safely",
    ),
    "session_expired": ErrorSpec(
        status=410,
        title="The session has expired",
        detail="The session is over. Create a new one.",
        meaning="The session has expired.",
        remedy="Create a new session, which sends a new code.",
        further="integrate.md#the-flow",
        twilio=_NOT_FOUND,
    ),
    "verify_token_expired": ErrorSpec(
        status=410,
        title="The verify token has expired or was used",
        detail="The verify token is over or was used before. The user has to verify again.",
        meaning=(
            f"The verify token is older than {VERIFY_TOKEN_SECONDS} seconds, or was redeemed before. It works once."
        ),
        remedy=("Do not let the user in. Have them verify again, and redeem the token as soon as your server gets it."),
        further="integrate.md#on-your-server",
    ),
    "body_too_large": ErrorSpec(
        status=413,
        title="The request body is too large",
        example="The body is larger than 16384 bytes.",
        meaning="The request body is larger than 16 KiB.",
        remedy="No request of this API needs that much. Send only the documented fields.",
        further="integrate.md#errors-waiting-retrying",
        twilio=TwilioError(413, 60200, "Invalid parameter"),
    ),
    "unsupported_media_type": ErrorSpec(
        status=415,
        title="The request body must be JSON in UTF-8",
        example="The Content-Type must be application/json.",
        meaning="The `Content-Type` is not `application/json` in UTF-8, or the body is compressed.",
        remedy="Send `Content-Type: application/json` and an uncompressed body.",
        further="integrate.md#errors-waiting-retrying",
        twilio=TwilioError(415, 60200, "Invalid parameter"),
    ),
    "channel_timeout": ErrorSpec(
        status=429,
        title="A code was just sent over this channel",
        detail=f"A code was sent over this channel within the last {CHANNEL_BLOCK_SECONDS} seconds.",
        extra={"retry_after": 42},
        meaning=f"This recipient was sent a code over this channel within the last {CHANNEL_BLOCK_SECONDS} seconds.",
        remedy=(
            "Disable the button for `retry_after` seconds, or offer another channel. The code already sent stays valid."
        ),
        further="integrate.md#errors-waiting-retrying",
        twilio=TwilioError(429, 60212, "Too many concurrent requests for phone number"),
    ),
    "too_many_attempts": ErrorSpec(
        status=429,
        title="Too many wrong codes",
        detail="There were too many wrong codes for this recipient.",
        extra={"retry_after": 540},
        meaning=(
            "Too many wrong codes were entered. Without `retry_after` only this session is locked; with it, all "
            "sessions of the recipient are."
        ),
        remedy=(
            "Without `retry_after`, create a new session. With it, tell the user when to come back; no code is sent "
            "until then."
        ),
        further="guard.md#guessing",
        twilio=TwilioError(429, 60202, "Max check attempts reached"),
    ),
    "too_many_sends": ErrorSpec(
        status=429,
        title="Too many codes were sent",
        detail="Too many codes were sent to this recipient.",
        extra={"retry_after": 300},
        meaning=(
            "Too many messages were sent to this recipient. Without `retry_after`, this session reached its limit of "
            "five sends."
        ),
        remedy=("With `retry_after`, wait that long. Without it, the last code is still valid until the session ends."),
        further="testing.md#suppressed-over-the-limit-guarded",
        twilio=TwilioError(429, 60203, "Max send attempts reached"),
    ),
    "rate_limited": ErrorSpec(
        status=429,
        title="Too many requests",
        example="The project's limit of requests in a second is reached.",
        extra={"limit": "requests_per_second", "retry_after": 1},
        meaning=(
            "A limit is reached, and `limit` says which: requests of the client address, requests per second of the "
            "project, unknown keys, wrong codes or failed challenges from the client address, or the channel's "
            "budget of the day or month."
        ),
        remedy=(
            "Wait for `retry_after` seconds if the answer has it. When a budget is used up, offer the user another "
            "channel: `channels` lists them. If your server makes requests for many users, add it "
            "to the project's server addresses."
        ),
        further="integrate.md#errors-waiting-retrying",
        twilio=TwilioError(429, 20429, "Too many requests"),
    ),
    "internal_error": ErrorSpec(
        status=500,
        title="Something went wrong on our side",
        detail="Something went wrong on our side; the request_id finds it in our log.",
        meaning="An unexpected error in the service.",
        remedy="Retry once. If the error persists, give the operator the `request_id`, which is in the log.",
        further="engineering/runbook.md#watchworderrors",
        twilio=TWILIO_INTERNAL_ERROR,
    ),
    "service_unavailable": ErrorSpec(
        status=503,
        title="The service is briefly unavailable",
        detail="The database is away; nothing was accepted.",
        extra={"retry_after": 1},
        meaning=(
            "The database is temporarily unavailable, or the operator has stopped all sending. Nothing was accepted."
        ),
        remedy="Retry after `retry_after` seconds. Nothing happens twice.",
        further="operate.md#when-something-is-down",
        twilio=TwilioError(503, 20503, "Service unavailable"),
    ),
    "challenge_unavailable": ErrorSpec(
        status=503,
        title="The challenge provider does not answer",
        detail="The challenge provider does not answer.",
        meaning=(
            "The bot-protection provider does not answer within 3 seconds, or rejects the project's keys. Nothing was "
            "written or sent."
        ),
        remedy=(
            "Try again later with the answer to a new challenge. As the owner, check the keys in the project's "
            "settings; the operator's log has the provider's answer. A project can choose to let callers through in "
            "the meantime."
        ),
        further="integrate.md#challenges",
    ),
}
