"""Words for what providers answered, with what an owner can do about it, and for lengths of time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from django.db.models import Model
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from providers.errors import Outcome
from verification.core.formats import grouped
from verification.models import ChannelType, Message

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class Tone(StrEnum):
    """The meaning of a line for its reader, by which the page colours it."""

    PLAIN = "plain"
    GOOD = "good"
    FAIR = "fair"  # not as it should be, but nothing is lost by it
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Advice:
    """A next step in words. ``page`` names the model whose list helps, ``row`` the row whose page does."""

    text: str
    page: str = ""
    row: Model | None = None


@dataclass(frozen=True, slots=True)
class OutcomeWords:
    """The words for one outcome of a call; ``{name}`` is the provider's. ``remedy`` is empty where nothing helps."""

    text: StrOrPromise
    tone: Tone
    remedy: StrOrPromise = ""
    page: str = ""  # where the remedy is applied, if not on the provider's page: as in Advice
    is_outage: bool = False  # the provider was away, so another one helps


_SECOND = gettext_lazy("Add a second provider for the channel, which takes over when {name} fails.")

ANSWERS: dict[str, OutcomeWords] = {
    Outcome.ACCEPTED: OutcomeWords(gettext_lazy("{name} accepted the message"), Tone.GOOD),
    Outcome.NOT_APPLICABLE: OutcomeWords(gettext_lazy("{name} was skipped: it cannot send this message"), Tone.PLAIN),
    Outcome.REFUSED: OutcomeWords(
        gettext_lazy("{name} rejected the recipient"),
        Tone.BAD,
        gettext_lazy(
            "Ask the user to check the number or address, or offer another channel. Other providers of this channel"
            " will not help."
        ),
    ),
    Outcome.DECLINED: OutcomeWords(
        gettext_lazy("{name} declined the message"),
        Tone.BAD,
        gettext_lazy("Ask {name} whether it serves this country and route, or add a provider that does."),
    ),
    Outcome.NO_ACCOUNT: OutcomeWords(
        gettext_lazy("{name}: the recipient has no account"),
        Tone.BAD,
        gettext_lazy("Offer this user another channel, such as SMS."),
    ),
    Outcome.OPTED_OUT: OutcomeWords(
        gettext_lazy("{name}: the recipient has opted out there"),
        Tone.BAD,
        gettext_lazy("If the user did not opt out, ask {name} about your sender, or add another provider."),
    ),
    Outcome.MISCONFIGURED: OutcomeWords(
        gettext_lazy("{name} rejected the credentials, sender or text"),
        Tone.BAD,
        gettext_lazy("Open {name}, compare its settings with your account at the vendor, and use Check credentials."),
    ),
    Outcome.OUT_OF_FUNDS: OutcomeWords(
        gettext_lazy("{name}: insufficient credit"),
        Tone.BAD,
        gettext_lazy("Top up your account with {name}."),
    ),
    Outcome.POSTPONED: OutcomeWords(
        gettext_lazy("{name} postponed the message; nothing was sent"),
        Tone.FAIR,
        gettext_lazy("Nothing is broken: the recipient cannot have it now. Offer another channel."),
    ),
    Outcome.RECIPIENT_LIMITED: OutcomeWords(
        gettext_lazy("{name} limited messages to this recipient"),
        Tone.FAIR,
        gettext_lazy("Nothing is broken: the user requested many codes. Wait a few minutes or use another channel."),
    ),
    Outcome.RATE_LIMITED: OutcomeWords(
        gettext_lazy("{name} limited the sending rate"),
        Tone.FAIR,
        gettext_lazy("Ask {name} for a higher rate limit, or add a second provider to share the traffic."),
    ),
    Outcome.TEMPORARY: OutcomeWords(
        gettext_lazy("{name} failed; nothing was sent"), Tone.FAIR, _SECOND, "provider", True
    ),
    Outcome.UNKNOWN: OutcomeWords(
        gettext_lazy("{name} gave no clear response; the message may have been sent"),
        Tone.FAIR,
        _SECOND,
        "provider",
        True,
    ),
    Outcome.UNCLEAR: OutcomeWords(
        gettext_lazy("{name} gave an answer that says neither yes nor no; the message may have been sent"),
        Tone.FAIR,
        gettext_lazy("Open {name}, compare its settings with your account at the vendor, and use Check credentials."),
    ),
}
# Of MISCONFIGURED where an HTTP status is known, which says more than our guess at what was wrong.
REJECTED_REQUEST = gettext_lazy("{name} rejected the request")
NO_SUCH_URL = gettext_lazy("The URL answers 404 (not found). Check the URL of {name}.")
_HTTP_STATUS = re.compile(r"\(HTTP (\d{3})\b")  # as providers/http/client.py writes it
_OTHER = OutcomeWords(gettext_lazy("{name} responded"), Tone.PLAIN)


def answer_of(outcome: str) -> OutcomeWords:
    """Return the words for an attempt's outcome; for one that this version does not know, plain ones."""
    return ANSWERS.get(outcome, _OTHER)


def http_status(error: str) -> str:
    """Return the HTTP status that an attempt's error names; empty without one."""
    found = _HTTP_STATUS.search(error)
    return found.group(1) if found else ""


def channel_name(channel: str) -> str:
    return str(ChannelType(channel).label) if channel in ChannelType.values else channel


def manual_kind(message: Message) -> str:
    """Say who sent a message that has no session. An API request leaves its id; a test of ours has none."""
    if message.connection_id is not None:
        return _("Connection")
    return _("Test") if is_own_test(message) else _("API send")


def is_own_test(message: Message) -> bool:
    """Return whether a message was sent as a test in the panel or by ``manage.py sendtest``.

    An erased recipient's messages have lost their requests' ids, so of these nothing is said.
    """
    is_by_request = message.connection_id is not None or bool(message.request_id)
    return message.session_id is None and not is_by_request and message.recipient.forgotten_at is None


def lasted(passed: timedelta) -> str:
    """Write a length of time as people say it: ``0.3 s``, ``12 s``, ``3 min 5 s``, ``2 h 10 min``."""
    seconds = max(0.0, passed.total_seconds())
    if seconds < 9.95:
        return _("{number} s").format(number=grouped(seconds, places=1))
    whole = round(seconds)
    if whole < 60:
        return _("{number} s").format(number=whole)
    if whole < 3_600:
        return (
            _("{minutes} min {seconds} s").format(minutes=whole // 60, seconds=whole % 60)
            if whole % 60
            else _("{number} min").format(number=whole // 60)
        )
    return _("{hours} h {minutes} min").format(hours=whole // 3_600, minutes=whole % 3_600 // 60)


def joined(names: list[str]) -> str:
    """Write names as a list in a sentence, the last after "and"."""
    if len(names) < 2:
        return "".join(names)
    return _("{names} and {last}").format(names=", ".join(names[:-1]), last=names[-1])


def joined_by_or(names: list[str]) -> str:
    """Write names as a list in a sentence, the last after "or"."""
    if len(names) < 2:
        return "".join(names)
    return _("{names} or {last}").format(names=", ".join(names[:-1]), last=names[-1])


def lowered(text: str) -> str:
    """Let a sentence go on after a colon. A word such as HTTP keeps its capitals."""
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"


def sentence(text: str) -> str:
    """Begin with a capital and end with a point: the words of providers often do neither."""
    text = text.strip()
    if not text:
        return ""
    return f"{text[0].upper()}{text[1:]}{'' if text[-1] in '.!?…' else '.'}"


def clause(text: str) -> str:
    """Make a sentence a part of another. A word such as HTTP keeps its capitals."""
    return lowered(text.strip().rstrip("."))
