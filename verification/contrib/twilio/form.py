"""The body of a request: a form, read strictly, with the parameters that Twilio names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from urllib.parse import parse_qsl

from django.http import HttpRequest

from verification.core.addresses import Address, AddressInvalid
from verification.core.errors import ApiError, FieldError, FieldsInvalid
from verification.core.request_bodies import read_body
from verification.models import ChannelType
from verification.services.projects.snapshot import ProjectConfig

MEDIA_TYPE = "application/x-www-form-urlencoded"
MAX_BODY_BYTES = 16 * 1024  # bytes of a body: as for our own endpoints, and Twilio's longest parameters are not taken
MAX_FIELDS = 50  # fields of a body; Twilio names under twenty
MAX_TEXT = 320  # characters of a parameter that is read: the longest e-mail address has as many

CHANNELS = {
    "sms": ChannelType.SMS,
    "call": ChannelType.VOICE,
    "email": ChannelType.EMAIL,
    "whatsapp": ChannelType.MESSENGER_B,
    "telegram": ChannelType.MESSENGER_A,  # ours: Twilio has no such channel
}
AUTOMATIC = "auto"  # the channel is chosen for the recipient


def read(request: HttpRequest) -> dict[str, str]:
    """Return the parameters. Raises ``unsupported_media_type``, ``body_too_large`` and ``parse_error``."""
    if request.META.get("CONTENT_TYPE", "").partition(";")[0].strip().lower() != MEDIA_TYPE:
        raise ApiError("unsupported_media_type", f"Send the parameters as {MEDIA_TYPE}.")
    body = read_body(request, request, MAX_BODY_BYTES)
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise ApiError("parse_error", "The body is not a form in UTF-8.") from None
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ApiError("parse_error", "A parameter appears twice in the body.")
    return {name: value for name, value in values.items() if value}


def text(values: Mapping[str, str], name: str) -> str:
    """Return a required parameter. Raises :class:`FieldsInvalid`."""
    value = values.get(name, "")
    if not value or len(value) > MAX_TEXT or "\0" in value:
        raise wrong(name, "This parameter is required." if not value else "It cannot be read.")
    return value


def choice(values: Mapping[str, str], name: str, choices: Collection[str]) -> str:
    """Return a required parameter that has few values. Raises :class:`FieldsInvalid`."""
    value = text(values, name)
    if value not in choices:
        raise wrong(name, f"Give one of: {', '.join(choices)}.")
    return value


def recipient(project: ProjectConfig, value: str) -> Address:
    """Return the recipient that ``To`` names. Raises :class:`FieldsInvalid`."""
    try:
        return project.read_address(value)
    except AddressInvalid as error:
        raise wrong("To", str(error)) from None


def channel(values: Mapping[str, str]) -> str | None:
    """Return our name of the channel, or None where it is to be chosen. Raises :class:`FieldsInvalid`."""
    name = choice(values, "Channel", (*CHANNELS, AUTOMATIC))
    return None if name == AUTOMATIC else CHANNELS[name].value


def wrong(name: str, detail: str) -> FieldsInvalid:
    return FieldsInvalid(FieldError(name, "invalid", detail))
