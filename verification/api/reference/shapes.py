"""The shapes of requests and answers, for the API's description.

They serve no request: :mod:`verification.api.fields` reads requests, and the views write answers. Tests hold the live
service to what is written here.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from verification.api.fields import CHALLENGE_TOKEN_MAX_CHARACTERS, URL_MAX_CHARACTERS
from verification.codes import (
    LENGTHS_IN_WORDS,
    LONG_CODE,
    MAX_GUESS_CHARACTERS,
    SHORT_CODE,
    WRONG_CODES_THAT_LOCK,
    code_pattern,
)
from verification.errors import CATALOGUE
from verification.models import ChallengeProvider, ChannelType
from verification.whole_numbers import MAX_ID

# --- values ------------------------------------------------------------------------------------------------------

MESSAGE_STATUSES = [
    ("queued", "accepted by us, not taken up yet"),
    ("sending", "being handed to a provider"),
    ("sent", "a provider has it; its delivery receipt is awaited"),
    ("success", "final: delivered, as far as the provider can tell"),
    ("failed", "final: given up; `error` says why"),
    ("expired", "final: its time ran out before it was sent, or before the receipt came; `error` says which"),
]
FINAL_STATUSES = MESSAGE_STATUSES[3:]
ERROR_CODES = [(code, words.title) for code, words in CATALOGUE.items()]
FIELD_ERRORS = [
    ("required", "the field is missing"),
    ("null", "a required field is null"),
    ("invalid_type", "the JSON type is another one; nothing is coerced"),
    ("blank", "the text is empty"),
    ("too_long", "the text is longer than allowed"),
    ("invalid_choice", "not one of the listed values"),
    ("invalid", "not of the form described"),
    ("unknown", "well formed, but there is no such thing"),
    ("repeated", "a query parameter stands there twice"),
]
CODE_LENGTHS = [(length, f"{most} wrong codes lock the session") for length, most in WRONG_CODES_THAT_LOCK.items()]

ULID = r"^[0-7][0-9A-HJKMNP-TV-Z]{25}$"
ENVELOPE = r"^aes256:[A-Za-z0-9+/]{16}:[A-Za-z0-9+/]{6}(==|[A-Za-z0-9+/]{2}):[A-Za-z0-9+/]{22}==$"
DIGITS = f"^({code_pattern('0-9')})$"


@extend_schema_field(
    {
        "type": "string",
        "minLength": 1,
        "maxLength": 1000,
        "description": "The recipient. With an `@` it is an e-mail address: one plain address of at most 254 "
        "characters, whose domain may be in another script. Otherwise it is a phone number (E.164): a plus, the "
        "country code and the number; spaces and ( ) . / - may stand between digits. Every accepted writing of one "
        "number is one recipient; spaces around it are ignored. A number that cannot exist is a `validation_error`; "
        "one that may not be sent to is `recipient_not_allowed`.",
        "examples": ["+46701740605", "ada@example.com"],
    }
)
class RecipientField(serializers.CharField):
    pass


def session_id_field() -> serializers.Field[Any, Any, Any, Any]:
    return serializers.RegexField(
        ULID, min_length=26, max_length=26, help_text="The session: a ULID, 26 characters in capitals."
    )


def channel_field(help_text: str, **options: Any) -> serializers.ChoiceField:
    return serializers.ChoiceField(ChannelType.choices, help_text=help_text, **options)


def expiry_field() -> serializers.DateTimeField:
    return serializers.DateTimeField(
        help_text="When the session ends: three minutes after it was created, and nothing extends it. ISO 8601, UTC."
    )


def challenge_token_field() -> serializers.CharField:
    return serializers.CharField(
        required=False,
        allow_null=True,
        min_length=1,
        max_length=CHALLENGE_TOKEN_MAX_CHARACTERS,
        help_text="The answer to a challenge, as the provider's widget makes it. Needed where `challenge.enabled` of "
        "session/settings is true. It works once.",
    )


# --- session endpoints -------------------------------------------------------------------------------------------


class SessionChannel(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The name to show; the project's owner chooses it.")
    type = channel_field("The value to send as `type`.")
    is_active = serializers.BooleanField(
        help_text="Whether a code can reach the user over it now. False for a messenger bot that the user has not "
        "started: show `link` then."
    )
    timeout = serializers.IntegerField(
        min_value=0,
        max_value=60,
        help_text="Whole seconds until a code can be sent over this channel again; 0 means now. The block is per "
        "recipient and channel, so it outlives the session.",
    )
    image_url = serializers.URLField(help_text="The channel's icon, always an absolute URL.")
    link = serializers.URLField(
        help_text="Where to send the user for this channel: the messenger bot, or the project's site. Always absolute."
    )


class SessionCreateRequest(serializers.Serializer[Any]):
    to = RecipientField()
    type = channel_field(
        "The channel to send over. Left out (or null): the channel that this recipient last verified with, else the "
        "one a code last reached them over, else the project's default.",
        required=False,
        allow_null=True,
    )
    send = serializers.BooleanField(
        required=False,
        allow_null=True,  # no ``default``: generated TypeScript would then ask for the member
        help_text="Left out, true. False only creates the session, sends nothing and spends no send limit.",
    )
    challenge_token = challenge_token_field()


class SessionCreateResponse(serializers.Serializer[Any]):
    session_id = session_id_field()
    session_expired_at = expiry_field()
    sent_to = channel_field(
        "The channel over which this session's code last went (or is going) out; **null when none has yet**, as after "
        "`send: false`.",
        allow_null=True,
    )
    channels = SessionChannel(many=True, help_text="The channels this recipient can be reached over, in order.")


class SessionSendRequest(serializers.Serializer[Any]):
    session_id = session_id_field()
    type = channel_field("The channel to send over.")
    challenge_token = challenge_token_field()


class SessionSendResponse(serializers.Serializer[Any]):
    session_id = session_id_field()
    session_expired_at = expiry_field()
    channel = SessionChannel(help_text="The channel the code went out over, with its block now running.")


class SessionCheckRequest(serializers.Serializer[Any]):
    session_id = session_id_field()
    code = serializers.CharField(
        min_length=1,
        max_length=MAX_GUESS_CHARACTERS,
        help_text="What the user typed, as a string. Spaces around it and lower case do not matter. Every string of 1 "
        f"to {MAX_GUESS_CHARACTERS} characters spends a try; an empty, longer or non-string one spends none.",
    )


class SessionCheckResponse(serializers.Serializer[Any]):
    verify_token = serializers.UUIDField(
        help_text="Send it to your server, which redeems it at session/verify within 60 seconds. It works once."
    )
    is_test = serializers.BooleanField(help_text="Whether the recipient is one of the project's test logins.")


class SessionSettingsProject(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The project's name.")


class SessionSettingsCode(serializers.Serializer[Any]):
    length = serializers.ChoiceField(CODE_LENGTHS, help_text="How many characters the code has.")
    digits = serializers.BooleanField(help_text="Whether the code may hold digits.")
    letters = serializers.BooleanField(
        help_text="Whether the code may hold letters: A to Z without I, L and O. With both, the digits 0 and 1 are "
        "left out."
    )


class SessionSettingsChallenge(serializers.Serializer[Any]):
    enabled = serializers.BooleanField(help_text="Whether a challenge must be solved by this caller.")
    api_key = serializers.CharField(
        allow_null=True,
        help_text="The site key of the challenge provider, for `altcha` the address of its puzzles; null while "
        "`enabled` is false.",
    )
    provider = serializers.ChoiceField(
        ChallengeProvider.choices, required=False, help_text="The challenge provider; absent while `enabled` is false."
    )


class SessionSettings(serializers.Serializer[Any]):
    language = serializers.CharField(help_text="The language of the messages, such as `en` or `de`.")
    project = SessionSettingsProject(help_text="The project.")
    code = SessionSettingsCode(help_text="What the code looks like; for a test login that of its fixed code.")
    challenge = SessionSettingsChallenge(help_text="Bot protection.")


class PuzzleParameters(serializers.Serializer[Any]):
    algorithm = serializers.CharField(help_text="How a try is computed.")
    cost = serializers.IntegerField(min_value=1, help_text="The iterations of one try.")
    keyLength = serializers.IntegerField(min_value=1, help_text="The length of a try's result in bytes.")
    keyPrefix = serializers.CharField(help_text="What the result of the right try begins with, in hexadecimal.")
    nonce = serializers.CharField(help_text="Random bytes, in hexadecimal.")
    salt = serializers.CharField(help_text="Random bytes, in hexadecimal.")
    expiresAt = serializers.IntegerField(help_text="When it ends, in seconds since 1970.")
    data = serializers.DictField(child=serializers.CharField(), help_text="The project that it is for.")  # type: ignore[assignment]  # as above


class Puzzle(serializers.Serializer[Any]):
    parameters = PuzzleParameters(help_text="What is to be solved.")
    signature = serializers.CharField(help_text="Ours, over the parameters.")


class SessionVerifyRequest(serializers.Serializer[Any]):
    verify_token = serializers.UUIDField(help_text="The token from session/check: a UUID, written in lower case.")


class SessionVerifyResponse(serializers.Serializer[Any]):
    phone = serializers.RegexField(
        r"^\+[1-9][0-9]{6,14}$", required=False, help_text="The verified number in E.164; absent for an e-mail login."
    )
    email = serializers.EmailField(
        required=False, help_text="The verified address in lower case; absent for a phone login."
    )


# --- manual endpoints --------------------------------------------------------------------------------------------


class ManualSendRequest(serializers.Serializer[Any]):
    to = RecipientField()
    channel = channel_field("The channel to send over.")
    provider_id = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MAX_ID,
        help_text="Pins one provider (see manual/channels) and turns fail-over off. Left out: the channel's providers "
        "are tried in their order.",
    )
    code = serializers.RegexField(
        DIGITS,
        required=False,
        allow_null=True,
        min_length=SHORT_CODE,
        max_length=LONG_CODE,
        help_text=f"Your own code: {LENGTHS_IN_WORDS} digits, as a string. Left out: one is drawn, digits, in the "
        "project's length.",
    )
    callback_url = serializers.URLField(
        required=False,
        allow_null=True,
        min_length=1,
        max_length=URL_MAX_CHARACTERS,
        help_text="Where the finished status is sent, signed: a public https address on port 443 or 8443, without user "
        "name and fragment. See the callback of this operation.",
    )


class ManualSendResponse(serializers.Serializer[Any]):
    message = serializers.CharField(help_text="A sentence for people.")
    code = serializers.RegexField(
        ENVELOPE,
        help_text="The code, encrypted: `aes256:<iv>:<ciphertext>:<tag>`, each part in padded base64. AES-256-GCM with "
        "a 12-byte IV and a 16-byte tag; the key is the SHA-256 of the text of the secret key used in the request.",
    )
    message_id = serializers.IntegerField(
        min_value=1, max_value=MAX_ID, help_text="Read what became of it at manual/message/{id}."
    )


class ManualMessage(serializers.Serializer[Any]):
    id = serializers.IntegerField(min_value=1, max_value=MAX_ID, help_text="The message.")
    channel = channel_field("The channel it went over.")
    status = serializers.ChoiceField(MESSAGE_STATUSES, help_text="Where it stands. It only moves forward.")
    error = serializers.CharField(allow_null=True, help_text="Why it failed or expired, in one sentence; else null.")


class ManualMessageFinished(ManualMessage):
    status = serializers.ChoiceField(FINAL_STATUSES, help_text="How it ended. It never changes again.")
    finished_at = serializers.DateTimeField(help_text="When it ended. ISO 8601, UTC.")


class ManualProvider(serializers.Serializer[Any]):
    id = serializers.IntegerField(min_value=1, max_value=MAX_ID, help_text="What to send as `provider_id`.")
    name = serializers.CharField(help_text="The name that the owner gave it.")
    type = serializers.CharField(help_text="The kind of provider, such as `smtp` or `http`.")
    is_system = serializers.BooleanField(
        help_text="Whether it belongs to the installation and serves every project. These come after the project's own."
    )


class ManualChannel(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The channel's name.")
    type = channel_field("The value to send as `channel`.")
    providers = ManualProvider(many=True, help_text="Its providers, in the order in which they are tried.")


# --- errors ------------------------------------------------------------------------------------------------------


class FieldProblem(serializers.Serializer[Any]):
    field = serializers.CharField(help_text="The name of the field, query parameter or header.")
    code = serializers.ChoiceField(FIELD_ERRORS, help_text="What is wrong with it, for machines.")
    detail = serializers.CharField(help_text="What is wrong with it, for people.")


class Problem(serializers.Serializer[Any]):
    """Problem details (RFC 9457): the answer to everything that fails. Further members may be added."""

    type = serializers.URLField(help_text="The page that explains this code.")
    title = serializers.CharField(help_text="The code in words; always the same for one code.")
    status = serializers.IntegerField(min_value=400, max_value=599, help_text="The HTTP status, once more.")
    code = serializers.ChoiceField(
        ERROR_CODES, help_text="The stable value to program against. Later versions may know more of them."
    )
    detail = serializers.CharField(help_text="What happened this time, in English, for people.")
    request_id = serializers.CharField(
        help_text="Names this request, as `X-Request-Id` does. With it the operator finds a 500 in the log."
    )
    errors = FieldProblem(  # type: ignore[assignment]  # a field of this name hides the serializer's own property
        many=True, required=False, help_text="With `validation_error`: every wrong field."
    )
    retry_after = serializers.IntegerField(
        required=False, min_value=0, help_text="Whole seconds to wait, where waiting helps; also in `Retry-After`."
    )
    attempts_left = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=max(WRONG_CODES_THAT_LOCK.values()) - 1,
        help_text="With `invalid_code`: how many tries remain.",
    )
    provider = serializers.ChoiceField(
        ChallengeProvider.choices, required=False, help_text="With `challenge_required`: whose widget to show."
    )
    api_key = serializers.CharField(
        required=False, help_text="With `challenge_required`: the site key for the widget, as in session/settings."
    )
    link = serializers.URLField(required=False, help_text="With `channel_not_active`: the way into the messenger.")
