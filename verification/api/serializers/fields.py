"""Fields that take a value as it is or refuse it. Nothing is coerced: JSON's types are the fields' types.

Each refuses with one code of ``errors.FIELD_ERRORS`` and one sentence, which never repeats the value.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any, NoReturn, Protocol

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from verification.core import formats
from verification.core.addresses import AddressInvalid
from verification.core.errors import UserError
from verification.core.numbers import MAX_ID
from verification.core.session_rules import (
    LENGTHS_IN_WORDS,
    LONG_CODE,
    MAX_GUESS_CHARACTERS,
    SHORT_CODE,
    code_pattern,
    plain_code,
)
from verification.models import REFERENCE_MAX_LENGTH, ChannelType
from verification.services.notifications import event_feed
from verification.services.projects.settings import check_called_url

TEXT_MAX_CHARACTERS = 1_000  # characters of a text whose form is judged only below this
MAX_PAGE = event_feed.PAGE  # items of one answer of any list
URL_MAX_CHARACTERS = 2_048  # characters of a callback URL, more than a sensible one has
CHALLENGE_TOKEN_MAX_CHARACTERS = 8_192  # characters of a challenge's answer; the longest of a vendor has a few thousand

ULID = r"^[0-7][0-9A-HJKMNP-TV-Z]{25}$"
UUID = r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_WHOLE = re.compile("[1-9][0-9]{0,2}")
DIGITS = f"^({code_pattern('0-9')})$"

MESSAGES: dict[str, Any] = {  # REST framework has some of them too, in the thread's language
    "required": "This field is required.",
    "null": "This field may not be null.",
    "invalid_type": "Give a string.",
    "blank": "This field may not be empty.",
    "too_long": "Give at most {max_length} characters.",
}


class Refusing(Protocol):
    def fail(self, key: str, **details: Any) -> NoReturn: ...


def read_text(field: Refusing, data: object, *, most: int = TEXT_MAX_CHARACTERS) -> str:
    """Return a string of 1 to ``most`` characters. Raises ``ValidationError``."""
    if not isinstance(data, str):
        field.fail("invalid_type")
    if not data:
        field.fail("blank")
    if len(data) > most:
        field.fail("too_long", max_length=most)
    return data


class StrictField:
    """A field whose ``to_internal_value`` says all there is to say of a value. Its validators only describe it."""

    def run_validators(self, value: object) -> None:
        """Skip them: ``to_internal_value`` has checked the value."""


class StrictCharField(StrictField, serializers.CharField):
    default_error_messages = MESSAGES

    def __init__(self, **options: Any) -> None:
        super().__init__(trim_whitespace=False, **options)

    def to_internal_value(self, data: object) -> Any:
        return read_text(self, data, most=self.max_length or TEXT_MAX_CHARACTERS)


class PatternField(StrictField, serializers.RegexField):
    """A string of one form. Any other up to the length of a text has the wrong form; a longer one is too long."""

    default_error_messages = MESSAGES

    def __init__(self, pattern: str, *, sentence: str, **options: Any) -> None:
        super().__init__(pattern, trim_whitespace=False, error_messages={"invalid": sentence}, **options)
        self.form = re.compile(pattern)

    def to_internal_value(self, data: object) -> str:
        text = read_text(self, data)
        if not self.form.fullmatch(text):
            self.fail("invalid")
        return text


class SessionIdField(PatternField):
    def __init__(self, **options: Any) -> None:
        sentence = "Give a ULID: 26 characters, in capitals."
        super().__init__(ULID, sentence=sentence, min_length=26, max_length=26, **options)


@extend_schema_field(OpenApiTypes.UUID)
class UuidField(PatternField):
    def __init__(self, **options: Any) -> None:
        super().__init__(UUID, sentence="Give a UUID in its usual writing, in lower case.", **options)


class ManualCodeField(PatternField):
    def __init__(self, **options: Any) -> None:
        sentence = f"Give {LENGTHS_IN_WORDS} digits."
        super().__init__(DIGITS, sentence=sentence, min_length=SHORT_CODE, max_length=LONG_CODE, **options)


@extend_schema_field(
    {
        "type": "string",
        "minLength": 1,
        "maxLength": REFERENCE_MAX_LENGTH,
        "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$",
        "examples": ["login-4711"],
    }
)
class ReferenceField(StrictCharField):
    """The caller's own word for a session."""

    default_error_messages = {"control": "Give a text without control characters."}

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=REFERENCE_MAX_LENGTH, **options)

    def to_internal_value(self, data: object) -> str:
        text: str = super().to_internal_value(data)
        if _CONTROL.search(text):
            raise ValidationError(self.error_messages["control"], code="invalid")
        return text


class GuessField(StrictCharField):
    """A code as a user typed it, read as a plain one."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_length=1, max_length=MAX_GUESS_CHARACTERS, **options)

    def to_internal_value(self, data: object) -> str:
        code = plain_code(super().to_internal_value(data))
        if not code:
            self.fail("blank")
        return code


class LimitField(StrictField, serializers.IntegerField):
    """How many items an answer has at most, in plain digits."""

    default_error_messages = {"invalid": f"Give a whole number from 1 to {MAX_PAGE}."}

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=MAX_PAGE, **options)

    def to_internal_value(self, data: object) -> int:
        text = str(data)
        if not _WHOLE.fullmatch(text) or int(text) > MAX_PAGE:
            self.fail("invalid")
        return int(text)


class StrictBooleanField(serializers.BooleanField):
    default_error_messages = {**MESSAGES, "invalid_type": "Give true or false."}

    def to_internal_value(self, data: object) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid_type")
        return data


class ProviderIdField(StrictField, serializers.IntegerField):
    """The id of a provider. JSON has one kind of number: 38.0 is 38."""

    default_error_messages = {
        **MESSAGES,
        "invalid_type": "Give a whole number.",
        "unknown": "There is no such provider.",
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=MAX_ID, **options)

    def to_internal_value(self, data: object) -> int:
        if isinstance(data, float) and data.is_integer():
            data = int(data)
        if isinstance(data, bool) or not isinstance(data, int):
            self.fail("invalid_type")
        if not 0 < data <= MAX_ID:
            self.fail("unknown")
        return data


class MessageIdField(ProviderIdField):
    """The id of a message, read as that of a provider is."""

    default_error_messages = {**ProviderIdField.default_error_messages, "unknown": "There is no such message."}


class ChannelField(serializers.ChoiceField):
    default_error_messages = {**MESSAGES, "invalid_choice": f"Give one of: {', '.join(ChannelType.values)}."}

    def __init__(self, **options: Any) -> None:
        super().__init__(ChannelType.choices, **options)

    def to_internal_value(self, data: object) -> str:
        text = read_text(self, data)
        if text not in self.choices:
            self.fail("invalid_choice")
        return text


@extend_schema_field(
    {
        "type": "string",
        "minLength": 1,
        "maxLength": TEXT_MAX_CHARACTERS,
        "description": "The recipient. With an `@` it is an e-mail address: one plain address of at most 254 "
        "characters, whose domain may use any script. Otherwise it is a phone number (E.164): a plus, the country code "
        "and the number, with or without spaces and ( ) . / - between digits. All accepted spellings of a number are "
        "the same recipient; surrounding spaces are ignored. A number that cannot exist is a `validation_error`; one "
        "that gets no codes is `recipient_not_allowed`.",
        "examples": ["+46701740605", "ada@example.com"],
    }
)
class RecipientField(StrictCharField):
    """A recipient's address. A test login of the caller's project, whose snapshot is the context, may be any number."""

    def to_internal_value(self, data: object) -> Any:
        text = super().to_internal_value(data)
        try:
            return self.context["project"].read_address(text)
        except AddressInvalid as error:
            raise ValidationError(str(error), code="invalid") from None


@extend_schema_field({"type": "string", "format": "uri", "minLength": 1, "maxLength": URL_MAX_CHARACTERS})
class CalledUrlField(StrictCharField):
    """An address of the customer's that we are to call."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=URL_MAX_CHARACTERS, **options)

    def to_internal_value(self, data: object) -> str:
        text: str = super().to_internal_value(data)
        try:
            check_called_url(text)
        except UserError as error:
            raise ValidationError(str(error), code="invalid") from None
        return text


class MomentField(serializers.DateTimeField):
    """A moment of an answer: ISO 8601 in UTC, to the millisecond."""

    def to_representation(self, value: datetime) -> str:
        return formats.iso_time(value)


def challenge_token_field() -> StrictCharField:
    return StrictCharField(
        required=False,
        allow_null=True,
        min_length=1,
        max_length=CHALLENGE_TOKEN_MAX_CHARACTERS,
        help_text="The answer to a challenge, as the provider's widget returns it. Required if `challenge.enabled` of "
        "session/settings is true. It works once.",
    )
