"""What the bodies of requests have in common: names that are not taken, and two names of the channel.

Members that are not known are ignored. Only those that look like ours are refused: without them something else would
happen than the caller meant, such as a paid SMS in place of a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError

RECIPIENT_IS_TO = "Write the recipient as `to`."
RECIPIENT_NAMES = ("phone", "email")
LANGUAGE_NAMES = ("language", "locale")


# These two have comments for docstrings: the published description would show a docstring for each body that has none.


class RequestSerializer(serializers.Serializer[Any]):
    # A sentence for each name that is refused unless it is a field: what to write instead.
    not_taken: ClassVar[Mapping[str, str]] = {}

    @property
    def refused(self) -> dict[str, str]:
        return {name: sentence for name, sentence in self.not_taken.items() if name not in self.fields}

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        wrong = {
            name: [ErrorDetail(sentence, "unexpected")]
            for name, sentence in self.refused.items()
            if name in data and data[name] is not None
        }
        if wrong:
            raise ValidationError(wrong)
        fields: dict[str, Any] = super().to_internal_value(data)
        return fields


class ChannelRequestSerializer(RequestSerializer):
    # A body that names the channel as ``type`` or as ``channel``. Its fields have it as ``channel``.

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        channel = data.get("channel")
        is_copied = channel is not None and data.get("type") is None
        if is_copied:
            data = {**data, "type": channel}
        elif "channel" in data and channel is None:
            data = {name: value for name, value in data.items() if name != "channel"}
        try:
            fields = super().to_internal_value(data)
        except ValidationError as error:
            if is_copied and isinstance(error.detail, dict):
                error.detail.pop("type", None)  # said of `channel`
            raise
        named = fields.pop("type", None)
        if channel not in (None, named):
            sentence = "This and `type` name two channels. Give one of the two names."
            raise ValidationError({"channel": [ErrorDetail(sentence, "invalid")]})
        return fields | {"channel": named}
