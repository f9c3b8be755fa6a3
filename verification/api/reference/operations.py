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
from verification.models import ChannelType

_CHALLENGE = ("challenge_required", "challenge_failed", "challenge_unavailable")
_ENDED = ("session_not_found", "session_verified", "session_expired")

create_session = operation(
    "createSession",
    tag=SESSION,
    summary="Create a session",
    description=f"""Starts a verification and, unless `send` is false, sends the code.

If the recipient has a live session that is not verified yet, **that one is returned**: the same id, the same code and
the same end. Parallel calls for one recipient give one session and one message.

- A session lives **{SESSION_SECONDS // 60} minutes** from its creation, or as long as the project has
  set; nothing extends it.
- While the channel's **{CHANNEL_BLOCK_SECONDS}-second block** still runs for this recipient nothing is sent and
  the answer is 200 all the same: see `channels[].timeout` and send again when it has run down.
- A messenger bot that the user has not started answers 200 with nothing sent yet (`sent_to` stays as it was), and its
  `link` opens the bot.
- One recipient gets at most 5 messages in 10 minutes, 10 an hour and 20 a day, manual sends included (each project
  can choose its own numbers). Beyond that the answer is `too_many_sends`.
- After 10 wrong codes in 15 minutes or 20 a day the recipient gets no code at all: `too_many_attempts`. For codes of
  {SHORT_CODE} characters it is half of that.
- Where the project orders a fall-back, the same code follows over the next channel when it does not arrive in time.
- A session that is verified, expired or locked by wrong codes is never handed out again.
- A **test login** gets a session as usual with its fixed code, and nothing is sent.

Where the project asks for a **challenge** (see session/settings), `challenge_token` holds its answer: without one
`challenge_required`, which names the provider and the site key. An answer is judged before anything is written or
sent, and works once. A project may ask always, or only callers who look like bots. A recipient with too many wrong
codes in 15 minutes gets on by passing a challenge; then only the day's count binds. Test logins are never asked.""",
    request=session.SessionCreateRequest,
    request_examples={
        "A phone number": {"to": "+46701740605"},
        "Over a chosen channel": {"to": "+46 70 174 06 05", "channel": "voice", "reference": "login-4711"},
        "An e-mail address, without sending": {"to": "ada@example.com", "send": False},
        "With the answer to a challenge": {"to": "+46701740605", "challenge_token": "eyJjaGFsbGVuZ2UiOnsi..."},
    },
    parameters=[ACCEPT_LANGUAGE, CLIENT_ADDRESS],
    answer=session.SessionCreateResponse,
    answer_description="The session, new or still alive.",
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

It is the **same code** as before, unless the project draws a new one for every send. The channel's
{CHANNEL_BLOCK_SECONDS}-second block is per recipient and answers `channel_timeout` while it runs; a send that failed
at every provider frees it at once. A session has at most 5 sends: then `too_many_sends`, without `Retry-After`.

Where the project asks for a challenge, every send needs the answer to a new one, as at session/create.

A session that is not open is refused. The first of these that holds is the answer: unknown `session_not_found`,
verified `session_verified`, expired `session_expired`, locked by wrong codes `too_many_attempts`.""",
    request=session.SessionSendRequest,
    request_examples={"By voice call": {"session_id": examples.SESSION_ID, "channel": "voice"}},
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

Without `session_id`, those of the project; `is_active` then says whether the channel needs no start by the user. With
it, those for the session's recipient, with their blocks. A session locked by wrong codes is still described; a
verified one answers 409, an expired one 410.""",
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
    description="""Tells the user's side what became of the session's code, for each channel that it went over, by the
newest message there: so that a form can say that it failed and offer another channel. Why it failed stands in
session records, for your server.

Ask every few seconds while the user waits. A session locked by wrong codes is still described; a verified one answers
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
    description=f"""Compares what the user typed and, if it is right, ends the session and issues a verify token.

**The token alone proves nothing in a browser**: send it to your server, which redeems it at session/verify.

- A wrong code is 400 `invalid_code`; `attempts_left` says how many tries remain.
  **{WRONG_CODES_THAT_LOCK[LONG_CODE]} wrong codes lock the session**, {WRONG_CODES_THAT_LOCK[SHORT_CODE]} where the
  code has {SHORT_CODE} characters; every check after that is 429 `too_many_attempts` without `Retry-After`. Create a
  new session then.
- Over all sessions of a recipient: 10 wrong codes in 15 minutes and 20 a day (half of that for {SHORT_CODE}
  characters), then 429 with `Retry-After`. Nothing but time or the recipient's own success resets these counts.
- Of any number of parallel right answers exactly one gets a token.
- A session whose code was never sent cannot be verified: every code is wrong.
- A session that is not open answers as described at session/send.""",
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

Without `session_id`, the project's settings, in the language that `Accept-Language` asks for if the project has it.
With it, the session's own: its language, and for a test login the form of its fixed code. A session locked by wrong
codes is still described; a verified one answers 409, an expired one 410.

`challenge.enabled` says whether you, calling now from where you are, would have to solve a challenge at session/create
or session/send. Where a project asks only on suspicion this may change from one call to the next, so be ready for
`challenge_required`.""",
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
    description="""A puzzle for the ALTCHA widget, from version 3 on, which calls this by itself: give it the `api_key`
of session/settings as its `challenge`. The answer that the widget makes is the `challenge_token`.

It needs **no key**. A puzzle is good for two minutes, for one project, and its answer for one call. From a browser only
origins that the project lists get an answer they may read.""",
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
    description=f"""Exchanges the token for the phone number or e-mail address that was verified. **This is the moment
of proof**: let the user in only if what comes back is the number or address of the account they asked for.

A token works once, within {VERIFY_TOKEN_SECONDS} seconds, and only with a key of the project it was issued to; of
parallel calls exactly one succeeds. The body holds either `phone` or `email`; headers name the session and the
channel, should you accept some channels only. For a test login the answer carries the header `X-Test-Login: true`;
refuse those in production if you do not use them.

Send an `Idempotency-Key`, and a **lost answer** can be read again: repeat the call with it within the token's
{VERIFY_TOKEN_SECONDS} seconds. Without the key that used it up, a used token is `verify_token_expired`.""",
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
    answer_description="Who it was.",
    answer_example={"phone": "+46701740605"},
    errors=("verify_token_not_found", "verify_token_expired"),
)
