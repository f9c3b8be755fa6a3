"""Reading request fields: strict types, nothing coerced, all errors told at once."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any

from verification import random_ids
from verification.addresses import Address, AddressInvalid, parse_address
from verification.codes import LENGTHS_IN_WORDS, MAX_GUESS_CHARACTERS, code_pattern
from verification.errors import FieldError, FieldsInvalid, Misuse
from verification.models import ChannelType
from verification.services.projects.settings import judge_called_url
from verification.whole_numbers import MAX_ID

URL_MAX_CHARACTERS = 2_048  # characters of a callback URL, more than a sensible one has.
CHALLENGE_TOKEN_MAX_CHARACTERS = 8_192  # characters of a challenge's answer; the longest of a vendor has a few thousand
CHANNELS = tuple(ChannelType.values)  # made once: Django puts the list together anew at each look

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_MANUAL_CODE = re.compile(code_pattern("0-9"))


class Fields:
    """The fields of one request. A method that finds a fault notes it and returns None; ``check`` raises them all.

    ``null`` in an optional field is the same as leaving it out.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._errors: list[FieldError] = []

    def check(self) -> None:
        """Raise :class:`FieldsInvalid` if any field was wrong."""
        if self._errors:
            raise FieldsInvalid(*self._errors)

    def text(self, name: str, *, required: bool = True, max_length: int = 1_000) -> str | None:
        value = self._get(name, required)
        if value is None:
            return None
        if not isinstance(value, str):
            self._wrong(name, "invalid_type", "Give a string.")
            return None
        if not value:
            self._wrong(name, "blank", "This field may not be empty.")
            return None
        if len(value) > max_length:
            self._wrong(name, "too_long", f"Give at most {max_length} characters.")
            return None
        return value

    def boolean(self, name: str, *, default: bool) -> bool:
        value = self._get(name, required=False)
        if value is None:
            return default
        if not isinstance(value, bool):
            self._wrong(name, "invalid_type", "Give true or false.")
            return default
        return value

    def positive_id(self, name: str) -> int | None:
        value = self._get(name, required=False)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has one kind of number: 38.0 is 38
        if isinstance(value, bool) or not isinstance(value, int):
            self._wrong(name, "invalid_type", "Give a whole number.")
            return None
        if not 0 < value <= MAX_ID:
            self._wrong(name, "unknown", "There is no such provider.")
            return None
        return value

    def channel(self, name: str, *, required: bool) -> str | None:
        value = self.text(name, required=required)
        if value is not None and value not in CHANNELS:
            self._wrong(name, "invalid_choice", f"Give one of: {', '.join(CHANNELS)}.")
            return None
        return value

    def address(self, name: str, *, test_addresses: Container[str]) -> Address | None:
        value = self.text(name)
        if value is None:
            return None
        try:
            return parse_address(value, test_addresses=test_addresses)
        except AddressInvalid as error:
            self._wrong(name, "invalid", str(error))
            return None

    def session_id(self, name: str, *, required: bool = True) -> str | None:
        value = self.text(name, required=required)
        if value is not None and not random_ids.is_session_id(value):
            self._wrong(name, "invalid", "Give a ULID: 26 characters, in capitals.")
            return None
        return value

    def public_id(self, name: str) -> str | None:
        return self._uuid(name)

    def verify_token(self, name: str) -> str | None:
        return self._uuid(name)

    def challenge_token(self, name: str) -> str | None:
        return self.text(name, required=False, max_length=CHALLENGE_TOKEN_MAX_CHARACTERS)

    def _uuid(self, name: str) -> str | None:
        value = self.text(name)
        if value is not None and not _UUID.fullmatch(value):
            self._wrong(name, "invalid", "Give a UUID in its usual writing, in lower case.")
            return None
        return value

    def guess(self, name: str) -> str | None:
        return self.text(name, max_length=MAX_GUESS_CHARACTERS)

    def manual_code(self, name: str) -> str | None:
        value = self.text(name, required=False)
        if value is not None and not _MANUAL_CODE.fullmatch(value):
            self._wrong(name, "invalid", f"Give {LENGTHS_IN_WORDS} digits.")
            return None
        return value

    def callback_url(self, name: str) -> str | None:
        value = self.text(name, required=False, max_length=URL_MAX_CHARACTERS)
        if value is None:
            return None
        try:
            judge_called_url(value)
        except Misuse as error:
            self._wrong(name, "invalid", str(error))
            return None
        return value

    def _get(self, name: str, required: bool) -> Any:
        value = self._values.get(name)
        if value is None and required:
            is_null = name in self._values
            self._wrong(
                name,
                "null" if is_null else "required",
                "This field may not be null." if is_null else "This field is required.",
            )
        return value

    def _wrong(self, name: str, code: str, detail: str) -> None:
        self._errors.append(FieldError(name, code, detail))
