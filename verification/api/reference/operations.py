"""The operations on sessions in words and examples, each a decorator for its view's method."""

from __future__ import annotations

from verification.api.reference import examples
from verification.api.reference.headers import ACCEPT_LANGUAGE, CLIENT_ADDRESS, REPLAYED, VERIFY_KEY, response_header
from verification.api.reference.schema import SECRET_KEY, SESSION, VERIFY, operation
from verification.api.serializers import session
from verification.core.session_rules import (
    CHANNEL_BLOCK_SECONDS,
    LONG_CODE,
    SESSION_SECONDS,
    SHORT_CODE,
    VERIFY_TOKEN_SECONDS,
    WRONG_CODES_THAT_LOCK,
)
from verification.models import ChannelType, Project

_CHALLENGE = ("challenge_required", "challenge_failed", "challenge_unavailable")
_DEFAULTS = {field.name: field.default for field in Project._meta.concrete_fields}
_SENDS = "{sends_per_10_minutes} messages in 10 minutes, {sends_per_hour} an hour and {sends_per_day} a day".format(
    **_DEFAULTS
)
_WRONG_CODES = "{wrong_codes_per_15_minutes} wrong codes in 15 minutes or {wrong_codes_per_day} in a day".format(
    **_DEFAULTS
)
_ENDED = ("session_not_found", "session_verified", "session_expired")

create_session = operation(
    "createSession",
    tag=SESSION,
    summary="Create a session",
    description=f"""Starts a verification and, unless `send` is false, sends the code.

If the recipient has a live session that is not verified yet, **that one is returned**: the same id, the same code and
the same end. Parallel calls for one recipient give one session and one message.

- A session lasts **{SESSION_SECONDS // 60} minutes** from its creation, or as long as the project has set. Nothing
  extends it.
- A channel has a **{CHANNEL_BLOCK_SECONDS}-second cooldown** for each recipient. During it nothing is sent and the
  answer is still 200: wait for `channels[].timeout` seconds and send again.
- If the channel is a messenger bot that the user has not started, the answer is 200, nothing is sent yet, `sent_to`
  does not change, and `link` opens the bot.
- One recipient gets at most {_SENDS}, manual sends included (each project
  can choose its own numbers). Beyond that the answer is `too_many_sends`.
- After {_WRONG_CODES} the recipient gets no more codes: `too_many_attempts`. For codes of
  {SHORT_CODE} characters the limits are half as high.
- If the project has a fallback, the same code follows over the next channel when it does not arrive in time.
- A session that is verified, expired or locked by wrong codes is never returned again.
- A **test login** gets a session as usual, with its fixed code. Nothing is sent.

If the project requires a **challenge** (see session/settings), send its answer as `challenge_token`. Without one the
answer is `challenge_required`, which names the provider and the site key. The challenge is checked before anything is
written or sent, and each answer works once. A project can require a challenge from every caller, or only from callers
who look like bots. A recipient with too many wrong codes in 15 minutes can continue by solving a challenge; the daily
limit still applies. Test logins never need one.""",
    request=session.SessionCreateRequest,
    request_examples={
        "A phone number": {"to": "+46701740605"},
        "Over a chosen channel": {"to": "+46 70 174 06 05", "channel": "voice", "reference": "login-4711"},
        "An e-mail address, without sending": {"to": "ada@example.com", "send": False},
        "With the answer to a challenge": {"to": "+46701740605", "challenge_token": "eyJjaGFsbGVuZ2UiOnsi..."},
    },
    parameters=[ACCEPT_LANGUAGE, CLIENT_ADDRESS],
    answer=session.SessionCreateResponse,
    answer_description="The session, new or still live.",
    answer_example={
        "session_id": examples.SESSION_ID,
        "session_expired_at": examples.EXPIRY,
        "sent_to": "sms",
        "channels": [examples.SMS, examples.VOICE],
    },
    errors=(*_CHALLENGE, "recipient_not_allowed", "channel_not_available", "too_many_attempts", "too_many_sends"),
)

send_session = operation(
    "sendSession",
    tag=SESSION,
    summary="Send the code again",
    description=f"""Sends the session's code over a channel of your choice.

It is the **same code** as before, unless the project generates a new one for every send. During the channel's
{CHANNEL_BLOCK_SECONDS}-second cooldown, which is per recipient, the answer is `channel_timeout`. A send that failed at
every provider ends the cooldown at once. A session has at most 5 sends; after that the answer is `too_many_sends`
without `Retry-After`.

If the project requires a challenge, every send needs the answer to a new one, as session/create does.

Only an open session can send. For any other the answer is the first of these that applies: unknown
`session_not_found`, verified `session_verified`, expired `session_expired`, locked by wrong codes
`too_many_attempts`.""",
    request=session.SessionSendRequest,
    request_examples={"By voice call": {"session_id": examples.SESSION_ID, "type": "voice"}},
    parameters=[CLIENT_ADDRESS],
    answer=session.SessionSendResponse,
    answer_description="The code is on its way.",
    answer_example={
        "session_id": examples.SESSION_ID,
        "session_expired_at": examples.EXPIRY,
        "channel": {**examples.VOICE, "timeout": 60},
    },
    errors=(
        *_ENDED,
        *_CHALLENGE,
        "recipient_not_allowed",
        "channel_not_available",
        "channel_not_active",
        "channel_timeout",
        "too_many_attempts",
        "too_many_sends",
    ),
)

list_channels = operation(
    "listSessionChannels",
    tag=SESSION,
    summary="List channels",
    description="""The channels to offer, in the project's order.

Without `session_id`, the project's channels; `is_active` is then false for a messenger bot, which each user has to
start first. With it, the channels for the session's recipient, with their cooldowns. A session locked by wrong codes is
still described; a verified one answers 409, an expired one 410.""",
    parameters=[session.SessionQuery],
    answer=session.SessionChannel(many=True),
    answer_description="The channels; an empty list where none is set up.",
    answer_example={**examples.SMS, "timeout": 17},
    errors=(*_ENDED, "validation_error"),
)

read_delivery = operation(
    "readSessionDelivery",
    tag=SESSION,
    summary="Read the delivery",
    description="""Returns, for each channel that the session's code was sent over, the status of the newest message
there. A form can use it to show that a code was not delivered and to offer another channel. Your server finds the
reason in the session records.

Poll every few seconds while the user waits. A session locked by wrong codes is still described; a verified one answers
409, an expired one 410.""",
    parameters=[session.DeliveryQuery],
    answer=session.SessionDelivery,
    answer_description="The channels; an empty list where nothing was sent.",
    answer_example={"channels": [{"channel": "sms", "status": "failed"}, {"channel": "voice", "status": "pending"}]},
    errors=(*_ENDED, "validation_error"),
)

check_code = operation(
    "checkSession",
    tag=SESSION,
    summary="Check the code",
    description=f"""Compares what the user typed with the code. If they match, ends the session and issues a verify
token.

**The token alone proves nothing in a browser**: send it to your server, which redeems it at session/verify.

- A wrong code is 400 `invalid_code`; `attempts_left` says how many tries remain.
  **{WRONG_CODES_THAT_LOCK[LONG_CODE]} wrong codes lock the session**, {WRONG_CODES_THAT_LOCK[SHORT_CODE]} where the
  code has {SHORT_CODE} characters; every check after that is 429 `too_many_attempts` without `Retry-After`. Create a
  new session then.
- Over all sessions of a recipient the limits are {_WRONG_CODES} (half as many for
  {SHORT_CODE} characters), then 429 with `Retry-After`. Only time or a correct code of the recipient resets these
  counts.
- If several requests with the right code arrive at once, exactly one gets a token.
- A session whose code was never sent cannot be verified: every code is wrong.
- A session that is not open answers as described for session/send.""",
    request=session.SessionCheckRequest,
    request_examples={"A code": {"session_id": examples.SESSION_ID, "code": "493817"}},
    parameters=[CLIENT_ADDRESS],
    answer=session.SessionCheckResponse,
    answer_description="The code was right.",
    answer_example={"verify_token": examples.TOKEN, "is_test": False},
    errors=(*_ENDED, "invalid_code", "too_many_attempts"),
)

read_settings = operation(
    "readSessionSettings",
    tag=SESSION,
    summary="Read settings",
    description="""What a form needs to know before the user types a code.

Without `session_id`, the project's settings, in the language that `Accept-Language` requests if the project has it.
With it, the session's own settings: its language, and for a test login the length and characters of its fixed code. A
session locked by wrong codes is still described; a verified one answers 409, an expired one 410.

`challenge.enabled` says whether this caller would have to solve a challenge at session/create or session/send now. If
the project requires challenges only on suspicion, this can change from one call to the next, so handle
`challenge_required` too.""",
    parameters=[session.SessionQuery, ACCEPT_LANGUAGE, CLIENT_ADDRESS],
    answer=session.SessionSettings,
    answer_description="The settings.",
    answer_example={
        "language": "en",
        "project": {"name": "Shop"},
        "code": {"length": 6, "digits": True, "letters": False},
        "challenge": {
            "enabled": True,
            "api_key": examples.PUZZLES_URL,
            "provider": "altcha",
        },
    },
    errors=(*_ENDED, "validation_error"),
)

read_puzzle = operation(
    "readChallenge",
    tag=SESSION,
    summary="Get a puzzle",
    description="""A puzzle for the ALTCHA widget, version 3 or later. The widget calls this itself: pass the `api_key`
of session/settings as its `challenge`, and send the widget's solution as `challenge_token`.

This endpoint needs **no key**. A puzzle is valid for two minutes and for one project; its solution works for one call.
Browsers can read the answer only on origins that the project lists.""",
    parameters=[session.PuzzleQuery],
    answer=session.Puzzle,
    answer_description="The puzzle.",
    answer_example=examples.PUZZLE,
    errors=("validation_error", "not_found"),
    key=None,
)

verify_session = operation(
    "verifySession",
    tag=VERIFY,
    key=SECRET_KEY,
    summary="Redeem a verify token",
    description=f"""Exchanges the token for the phone number or e-mail address that was verified. **This is the proof**:
let the user in only if the answer contains the number or address of the account they are logging in to.

A token works once, within {VERIFY_TOKEN_SECONDS} seconds, and only with a key of the project that issued it. Of several
calls at once exactly one succeeds. The body contains either `phone` or `email`; headers name the session and the
channel, in case you accept only some channels. For a test login the answer has the header `X-Test-Login: true`; if you
do not use test logins, refuse them in production.

With an `Idempotency-Key` you can read a **lost answer** again: repeat the call with the same key within the token's
{VERIFY_TOKEN_SECONDS} seconds. With another key, or without one, a used token is `verify_token_expired`.""",
    request=session.SessionVerifyRequest,
    request_examples={"A token": {"verify_token": examples.TOKEN}},
    parameters=[
        VERIFY_KEY,
        response_header("X-Session-Id", {"type": "string"}, "The session that was verified.", statuses=[200]),
        response_header(
            "X-Channel",
            {"type": "string", "enum": ChannelType.values},
            "The channel over which its code last went.",
            statuses=[200],
        ),
        REPLAYED,
        response_header(
            "X-Test-Login",
            {"type": "string", "const": "true"},
            "Present only for a recipient in the project's table of test logins.",
            statuses=[200],
        ),
    ],
    answer=session.SessionVerifyResponse,
    answer_description="The verified number or address.",
    answer_example={"phone": "+46701740605"},
    errors=("verify_token_not_found", "verify_token_expired"),
)
