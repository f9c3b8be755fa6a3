"""Words for what providers answered, with what an owner can do about it, and for lengths of time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from django.db.models import Model

from providers.outcomes import Outcome
from verification.models import ChannelType


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
class Answer:
    """The words for one outcome of a call; ``{name}`` is the provider's. ``remedy`` is empty where nothing helps."""

    text: str
    tone: Tone
    remedy: str = ""
    page: str = ""  # where the remedy is applied, if not on the provider's page: as in Advice


_SECOND = "Add a second provider of the channel, which takes over where {name} fails."

ANSWERS: dict[str, Answer] = {
    Outcome.ACCEPTED: Answer("{name} accepted the message", Tone.GOOD),
    Outcome.NOT_APPLICABLE: Answer("{name} was passed over: it cannot carry this message", Tone.PLAIN),
    Outcome.REFUSED: Answer(
        "{name} refused the recipient",
        Tone.BAD,
        "Ask the user to look at the address again, or offer another channel: no other provider of this one will do"
        " better.",
    ),
    Outcome.DECLINED: Answer(
        "{name} declined the message",
        Tone.BAD,
        "Ask {name} whether it serves this country and route, or add a provider that does.",
    ),
    Outcome.NO_ACCOUNT: Answer(
        "{name} knows no account of the recipient", Tone.BAD, "Offer this user another channel, such as SMS."
    ),
    Outcome.MISCONFIGURED: Answer(
        "{name} refused our credentials, sender or text",
        Tone.BAD,
        "Open {name}, compare its settings with your account there, and press Check credentials.",
    ),
    Outcome.OUT_OF_FUNDS: Answer(
        "{name} says that the account has no money left", Tone.BAD, "Top up your account with {name}."
    ),
    Outcome.RECIPIENT_LIMITED: Answer(
        "{name} takes no more messages to this recipient for now",
        Tone.FAIR,
        "Nothing is broken: the user has asked often. Another channel, or some minutes, help.",
    ),
    Outcome.RATE_LIMITED: Answer(
        "{name} takes no more messages from us for now",
        Tone.FAIR,
        "Ask {name} for a higher rate, or add a second provider to share the traffic.",
    ),
    Outcome.TEMPORARY: Answer("{name} failed, and surely sent nothing", Tone.FAIR, _SECOND, "provider"),
    Outcome.UNKNOWN: Answer(
        "{name} gave no clear answer, so it may have sent the message", Tone.FAIR, _SECOND, "provider"
    ),
}
_OTHER = Answer("{name} answered", Tone.PLAIN)


def answer_of(outcome: str) -> Answer:
    """Return the words for an attempt's outcome; for one that this version does not know, plain ones."""
    return ANSWERS.get(outcome, _OTHER)


def channel_name(channel: str) -> str:
    return str(ChannelType(channel).label) if channel in ChannelType.values else channel


def lasted(passed: timedelta) -> str:
    """Write a length of time as people say it: ``0.3 s``, ``12 s``, ``3 min 5 s``, ``2 h 10 min``."""
    seconds = max(0.0, passed.total_seconds())
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3_600} h {whole % 3_600 // 60} min"


def joined(names: list[str], word: str = "and") -> str:
    """Write names as a list in a sentence."""
    return f" {word} ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def plural(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def sentence(text: str) -> str:
    """Begin with a capital and end with a point: the words of providers often do neither."""
    text = text.strip()
    if not text:
        return ""
    return f"{text[0].upper()}{text[1:]}{'' if text[-1] in '.!?…' else '.'}"


def clause(text: str) -> str:
    """Make a sentence a part of another. A word such as HTTP keeps its capitals."""
    text = text.strip().rstrip(".")
    return text if text[1:2].isupper() else f"{text[:1].lower()}{text[1:]}"
