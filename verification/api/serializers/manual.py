"""The manual endpoints: their requests and answers, and the body of a callback."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from verification.api.serializers.bodies import (
    LANGUAGE_NAMES,
    RECIPIENT_IS_TO,
    RECIPIENT_NAMES,
    RequestSerializer,
)
from verification.api.serializers.fields import (
    CalledUrlField,
    ChannelField,
    ManualCodeField,
    MessageIdField,
    MomentField,
    ProviderIdField,
    RecipientField,
)
from verification.core.numbers import MAX_ID
from verification.core.session_rules import LENGTHS_IN_WORDS

MESSAGE_STATUSES = [
    ("queued", "accepted by the service, waiting to be sent"),
    ("sending", "being sent to a provider"),
    ("sent", "a provider accepted it; its delivery report is outstanding"),
    ("success", "final: delivered, as far as the provider knows"),
    ("failed", "final: not delivered, no more retries; `error` says why"),
    ("expired", "final: it expired before it was sent, or before the delivery report came; `error` says which"),
]
FINAL_STATUSES = MESSAGE_STATUSES[3:]
ENVELOPE = r"^aes256:[A-Za-z0-9+/]{16}:[A-Za-z0-9+/]{6}(==|[A-Za-z0-9+/]{2}):[A-Za-z0-9+/]{22}==$"


class ManualSendRequest(RequestSerializer):
    not_taken = dict.fromkeys(RECIPIENT_NAMES, RECIPIENT_IS_TO) | dict.fromkeys(
        LANGUAGE_NAMES, "The message is in the recipient's language, else in the project's. Leave this out."
    )

    to = RecipientField()
    channel = ChannelField(help_text="The channel to send over.")
    provider_id = ProviderIdField(
        required=False,
        allow_null=True,
        help_text="Pins one provider (see manual/channels) and turns failover off. If left out, the channel's "
        "providers are tried in their order.",
    )
    code = ManualCodeField(
        required=False,
        allow_null=True,
        help_text=f"Your own code: {LENGTHS_IN_WORDS} digits, as a string. If left out, one is generated: digits, in "
        "the project's length.",
    )
    callback_url = CalledUrlField(
        required=False,
        allow_null=True,
        help_text="Where to send the final status, signed: a public https URL on port 443 or 8443, without username "
        "and fragment. See the callback of this operation.",
    )


class ManualSendResponse(serializers.Serializer[Any]):
    message = serializers.CharField(help_text="A sentence for people.")
    code = serializers.RegexField(
        ENVELOPE,
        help_text="The code, encrypted: `aes256:<iv>:<ciphertext>:<tag>`, each part in padded base64. AES-256-GCM with "
        "a 12-byte IV and a 16-byte tag; the key is the SHA-256 of the text of the secret key used in the request.",
    )
    message_id = serializers.IntegerField(
        min_value=1, max_value=MAX_ID, help_text="The message's id, for manual/message/{id}."
    )


class ManualMessage(serializers.Serializer[Any]):
    id = serializers.IntegerField(min_value=1, max_value=MAX_ID, help_text="The message's id.")
    channel = ChannelField(help_text="The channel it was sent over.")
    status = serializers.ChoiceField(MESSAGE_STATUSES, help_text="The message's status. It only moves forward.")
    error = serializers.CharField(
        allow_null=True, help_text="Why it failed or expired, in one sentence; otherwise null."
    )


class ManualMessageFinished(ManualMessage):
    status = serializers.ChoiceField(FINAL_STATUSES, help_text="The final status. It never changes again.")
    finished_at = MomentField(help_text="When the status became final. ISO 8601, UTC.")


class ManualVerifiedRequest(serializers.Serializer[Any]):
    message_id = MessageIdField(
        required=False, allow_null=True, help_text="The message whose code the user entered: its id from manual/send."
    )
    to = RecipientField(
        required=False,
        allow_null=True,
        help_text="The recipient, instead of `message_id`. It means their newest message of the last 24 hours.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        given = [name for name in ("message_id", "to") if attrs.get(name) is not None]
        if len(given) != 1:
            raise serializers.ValidationError(
                {"message_id": serializers.ErrorDetail("Give either message_id or to.", code="invalid")}
            )
        return attrs


class ManualVerifiedResponse(serializers.Serializer[Any]):
    verified = serializers.BooleanField(help_text="Always true.")


class ManualProvider(serializers.Serializer[Any]):
    id = serializers.IntegerField(min_value=1, max_value=MAX_ID, help_text="The value to send as `provider_id`.")
    name = serializers.CharField(help_text="The name that the owner chose.")
    type = serializers.CharField(help_text="The kind of provider, such as `smtp` or `http`.")
    is_system = serializers.BooleanField(
        help_text="Whether it belongs to the installation and serves every project. These come after the project's own."
    )


class ManualChannel(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="The channel's name.")
    type = ChannelField(help_text="The value to send as `channel`.")
    providers = ManualProvider(many=True, help_text="Its providers, in the order in which they are tried.")
