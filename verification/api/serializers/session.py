"""The session endpoints and verify: their requests, queries and answers."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from verification.api.serializers.bodies import (
    LANGUAGE_NAMES,
    RECIPIENT_IS_TO,
    RECIPIENT_NAMES,
    ChannelRequestSerializer,
    RequestSerializer,
)
from verification.api.serializers.fields import (
    ChannelField,
    GuessField,
    MomentField,
    RecipientField,
    ReferenceField,
    SessionIdField,
    StrictBooleanField,
    UuidField,
    challenge_token_field,
)
from verification.core.session_rules import (
    CHANNEL_BLOCK_SECONDS,
    MAX_GUESS_CHARACTERS,
    VERIFY_TOKEN_SECONDS,
    WRONG_CODES_THAT_LOCK,
)
from verification.models import ChallengeProvider
from verification.services.sessions.describe import Delivery
from verification.services.sessions.describe import SettingsAnswer as SettingsOfSession

CODE_LENGTHS = [(length, f"{most} wrong codes lock the session") for length, most in WRONG_CODES_THAT_LOCK.items()]
DELIVERY_STATUSES = [
    (Delivery.PENDING.value, "on its way to a provider"),
    (Delivery.SENT.value, "a provider accepted it and has not reported that it arrived"),
    (Delivery.DELIVERED.value, "delivered, as far as the provider knows"),
    (Delivery.FAILED.value, "not sent or not delivered: offer another channel"),
]

SAME_AS_TYPE = "Another name for `type`, which the manual endpoints use. Give only one of the two."
SESSION = "The session's id: a ULID, 26 characters in capitals."
EXPIRY = "When the session expires. Nothing extends it. ISO 8601, UTC."


class SessionChannel(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The name to show; the project's owner chooses it.")
    type = ChannelField(help_text="The value to send as `type`.")
    is_active = serializers.BooleanField(
        help_text="Whether a code can reach the user over this channel now. False for a messenger bot that the user "
        "has not started: show `link` then."
    )
    timeout = serializers.IntegerField(
        min_value=0,
        max_value=CHANNEL_BLOCK_SECONDS,
        help_text="Whole seconds until a code can be sent over this channel again; 0 means now. This cooldown is per "
        "recipient and channel, so it continues after the session ends.",
    )
    image_url = serializers.URLField(help_text="The channel's icon, always an absolute URL.")
    link = serializers.URLField(
        help_text="Where to send the user for this channel: for a messenger, the bot that the user has to start. For "
        "other channels it is the link that the owner set, or the project's site; the verification does not need it. "
        "Always an absolute URL."
    )


class SessionQuery(serializers.Serializer[Any]):
    session_id = SessionIdField(
        required=False,
        help_text="A session that has not expired. With it the answer describes this session, without it the project. "
        "It must not be empty or repeated.",
    )


class SessionCreateRequest(ChannelRequestSerializer):
    not_taken = dict.fromkeys(RECIPIENT_NAMES, RECIPIENT_IS_TO) | dict.fromkeys(
        LANGUAGE_NAMES, "Send the user's languages in the header `Accept-Language`."
    )

    to = RecipientField()
    type = ChannelField(
        help_text="The channel to send over. If left out or null: the channel over which this recipient was last "
        "verified, otherwise the one over which a code last reached them, otherwise the project's default.",
        required=False,
        allow_null=True,
    )
    channel = ChannelField(required=False, allow_null=True, help_text=SAME_AS_TYPE)
    send = StrictBooleanField(
        required=False,
        allow_null=True,  # no ``default``: generated TypeScript would then ask for the member
        help_text="True if left out. False only creates the session: nothing is sent or counted towards send limits.",
    )
    reference = ReferenceField(
        required=False,
        allow_null=True,
        help_text="Your own reference for this verification, such as the id of a login. Your server can find the "
        "session by it, and events contain it. It proves nothing, because anyone with the API key can set it. If "
        "create returns a live session, a new reference replaces the old one.",
    )
    challenge_token = challenge_token_field()


class SessionCreateResponse(serializers.Serializer[Any]):
    session_id = SessionIdField(help_text=SESSION)
    session_expired_at = MomentField(source="expires_at", help_text=EXPIRY)
    sent_to = ChannelField(
        help_text="The channel over which this session's code was last sent or is being sent; **null if it was not "
        "sent yet**, for example after `send: false`.",
        allow_null=True,
    )
    channels = SessionChannel(many=True, help_text="The channels that can reach this recipient, in order.")


class SessionSendRequest(ChannelRequestSerializer):
    not_taken = dict.fromkeys(
        RECIPIENT_NAMES, "The code goes to the session's recipient. Leave this out."
    ) | dict.fromkeys(
        LANGUAGE_NAMES, "The message is in the session's language, which create chose by `Accept-Language`."
    )

    session_id = SessionIdField(help_text=SESSION)
    type = ChannelField(help_text="The channel to send over. Also accepted under the name `channel`.")
    channel = ChannelField(required=False, help_text=SAME_AS_TYPE)
    challenge_token = challenge_token_field()


class SessionSendResponse(serializers.Serializer[Any]):
    session_id = SessionIdField(help_text=SESSION)
    session_expired_at = MomentField(source="expires_at", help_text=EXPIRY)
    channel = SessionChannel(help_text="The channel the code was sent over, with its new cooldown.")


class SessionCheckRequest(RequestSerializer):
    not_taken = dict.fromkeys(
        RECIPIENT_NAMES, "The code is that of the session, which has its recipient. Leave this out."
    )

    session_id = SessionIdField(help_text=SESSION)
    code = GuessField(
        help_text="What the user typed, as a string. White space, dashes and invisible characters do not matter, nor "
        "do lower case and digits of another script. Any string of 1 to "
        f"{MAX_GUESS_CHARACTERS} characters counts as an attempt; an empty or longer one, one of which nothing is left "
        "without those characters, or another type, does not.",
    )


class SessionCheckResponse(serializers.Serializer[Any]):
    verify_token = serializers.UUIDField(
        help_text=f"Send it to your server, which redeems it at session/verify within {VERIFY_TOKEN_SECONDS} seconds."
        " It works once."
    )
    is_test = serializers.BooleanField(
        help_text="Whether the recipient is one of the project's test logins. Always false for the recipients of a "
        "test project."
    )


class SessionSettingsProject(serializers.Serializer[Any]):
    name = serializers.CharField(source="project_name", help_text="The project's name.")


class SessionSettingsCode(serializers.Serializer[Any]):
    length = serializers.ChoiceField(CODE_LENGTHS, help_text="How many characters the code has.")
    digits = serializers.BooleanField(help_text="Whether the code can contain digits.")
    letters = serializers.BooleanField(
        help_text="Whether the code can contain letters: A to Z without I, L and O. If it can contain both, the digits "
        "0 and 1 are not used."
    )


class SessionSettingsChallenge(serializers.Serializer[Any]):
    enabled = serializers.BooleanField(help_text="Whether this caller has to solve a challenge.")
    api_key = serializers.CharField(
        allow_null=True,
        help_text="The site key of the challenge provider; for `altcha` the URL of its puzzles. Null if `enabled` is "
        "false.",
    )
    provider = serializers.ChoiceField(
        ChallengeProvider.choices, required=False, help_text="The challenge provider; absent if `enabled` is false."
    )

    def get_attribute(self, instance: SettingsOfSession) -> dict[str, Any]:
        challenge = instance.challenge
        if challenge is None:
            return {"enabled": False, "api_key": None}
        return {"enabled": True, "api_key": challenge.api_key, "provider": challenge.provider}


class SessionSettings(serializers.Serializer[Any]):
    language = serializers.CharField(help_text="The language of the messages, such as `en` or `de`.")
    project = SessionSettingsProject(source="*", help_text="The project.")
    code = SessionSettingsCode(help_text="What the code looks like; for a test login, what its fixed code looks like.")
    challenge = SessionSettingsChallenge(help_text="Bot protection.")


class PuzzleQuery(serializers.Serializer[Any]):
    project = UuidField(help_text="The project's public id, which the `api_key` of session/settings contains.")


class PuzzleParameters(serializers.Serializer[Any]):
    algorithm = serializers.CharField(help_text="The algorithm that computes an attempt.")
    cost = serializers.IntegerField(min_value=1, help_text="The iterations of one attempt.")
    keyLength = serializers.IntegerField(min_value=1, help_text="The length of an attempt's result in bytes.")
    keyPrefix = serializers.CharField(help_text="What the result of the right attempt begins with, in hexadecimal.")
    nonce = serializers.CharField(help_text="Random bytes, in hexadecimal.")
    salt = serializers.CharField(help_text="Random bytes, in hexadecimal.")
    expiresAt = serializers.IntegerField(help_text="When the puzzle expires, in seconds since 1970.")
    data = serializers.DictField(child=serializers.CharField(), help_text="The project that the puzzle is for.")  # type: ignore[assignment]  # ALTCHA has a field of the name of the class's own attribute


class Puzzle(serializers.Serializer[Any]):
    parameters = PuzzleParameters(help_text="The puzzle.")
    signature = serializers.CharField(help_text="The service's signature of the parameters.")


class DeliveryQuery(serializers.Serializer[Any]):
    session_id = SessionIdField(help_text="A session that has not ended. It must not be repeated.")


class ChannelDelivery(serializers.Serializer[Any]):
    channel = ChannelField(help_text="A channel that the session's code was sent over.")
    status = serializers.ChoiceField(DELIVERY_STATUSES, help_text="The status of the newest message on this channel.")


class SessionDelivery(serializers.Serializer[Any]):
    channels = ChannelDelivery(many=True, help_text="The channels, in the order in which they were first tried.")


class SessionVerifyRequest(RequestSerializer):
    not_taken = dict.fromkeys(RECIPIENT_NAMES, "The answer says who was verified. Compare it with this on your side.")

    verify_token = UuidField(help_text="The token from session/check: a UUID, written in lower case.")


class SessionVerifyResponse(serializers.Serializer[Any]):
    phone = serializers.RegexField(
        r"^\+[1-9][0-9]{6,14}$", required=False, help_text="The verified number in E.164; absent for an e-mail login."
    )
    email = serializers.EmailField(
        required=False, help_text="The verified address in lower case; absent for a phone login."
    )
