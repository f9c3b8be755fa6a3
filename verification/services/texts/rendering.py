"""The texts that people receive: found by language, filled in one pass, never run as a template."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.translation.trans_real import parse_accept_lang_header

from providers.parsing import gsm
from verification.core.caching import FreshCache
from verification.models import ChannelType, MessageTemplate

FALLBACK_LANGUAGE = "en"
MAX_ACCEPT_LANGUAGE = 1_000  # characters of the header that are read; browsers send far fewer
ANDROID_MAX_BYTES = 140  # bytes of the longest SMS that Android hands to an app (Google's SMS Retriever)
RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})

_PLACEHOLDER = re.compile(r"\{(code|project|minutes)\}")
_SENTENCE = re.compile(r"[^.。।]+[.。।]?\s*")


@dataclass(frozen=True, slots=True)
class Rendered:
    """A message as it goes out. ``subject`` and ``html`` are for e-mail, and empty elsewhere."""

    text: str
    subject: str = ""
    html: str = ""


def languages() -> tuple[str, ...]:
    """Return the languages of the built-in texts."""
    return tuple(_texts())


def best_language(preferred: str, offered: Sequence[str]) -> str | None:
    """Return the best match of an ``Accept-Language`` header (RFC 9110) among ``offered``, or None.

    If ``offered`` is empty, every language with a built-in text is offered. ``de`` serves ``de-AT``.
    """
    return _best_language(preferred[:MAX_ACCEPT_LANGUAGE], tuple(offered or languages()))


@lru_cache(maxsize=1_024)  # browsers send few different headers, and made-up ones only push each other out
def _best_language(preferred: str, offered: tuple[str, ...]) -> str | None:
    by_name = {language.lower(): language for language in offered}
    for wanted in _ranges(preferred):
        while wanted:
            if wanted in by_name:
                return by_name[wanted]
            wanted = wanted.rpartition("-")[0]
    return None


@dataclass(frozen=True, slots=True)
class Style:
    """The project's own marks on its messages: its name, and the lines by which apps and browsers read the code."""

    name: str
    code_in_subject: bool = False
    web_otp_domain: str = ""
    android_hash: str = ""


def render_message(
    *,
    channel: str,
    language: str,
    code: str,
    project_id: int,
    project: Style,
    minutes: int,
    session_id: str | None = None,
) -> Rendered:
    """Render a message in ``language``, or in the nearest that has a text. ``minutes`` is the rest of the code's life.

    The project's own text for the channel and language goes before ours, and one of the ``ALTERNATIVES`` before both;
    a message without a session has none.
    """
    own = own_text(project_id, channel, language, session_id)
    return render_text(own, channel=channel, language=language, code=code, project=project, minutes=minutes)


def render_text(
    own: OwnText | None, *, channel: str, language: str, code: str, project: Style, minutes: int
) -> Rendered:
    """Render a message from the owner's text ``own``, or from ours where it is None."""
    texts = texts_for(language)
    values = {"code": code, "project": project.name, "minutes": str(minutes)}
    if channel == ChannelType.EMAIL:
        return _email(own, texts, values, language, code_in_subject=project.code_in_subject)
    if channel == ChannelType.VOICE:
        return Rendered(fill(own.text if own else texts["voice"], {**values, "code": ", ".join(code)}))
    if channel != ChannelType.SMS:
        return Rendered(fill(own.text if own else texts["sms"], values))
    return Rendered(for_autofill(fill(own.text, values), code, project) if own else _sms(texts["sms"], values, project))


def _email(
    own: OwnText | None, texts: dict[str, str], values: dict[str, str], language: str, *, code_in_subject: bool
) -> Rendered:
    subject = (own and own.subject) or texts["title_with_code" if code_in_subject else "title"]
    words = {name: fill(texts[name], values) for name in ("title", "validity", "ignore")}
    text = (
        fill(own.text, values)
        if own
        else f"{words['title']}: {values['code']}\n\n{words['validity']} {words['ignore']}\n"
    )
    page = render_to_string(
        "messages/email.html",
        {
            "language": language,
            "direction": "rtl" if language.partition("-")[0] in RIGHT_TO_LEFT else "ltr",
            "code": values["code"],
            "own": text if own else "",
            **words,
        },
    )
    return Rendered(text, fill(subject, values), page)


def _sms(text: str, values: dict[str, str], project: Style) -> str:
    """Render our own text. For an Android app, drop last sentences until the message is short enough to be read."""
    sentences = _SENTENCE.findall(text)
    while True:
        sms = for_autofill(fill("".join(sentences).rstrip(), values), values["code"], project)
        if not project.android_hash or len(sentences) < 2 or gsm.octets(sms) <= ANDROID_MAX_BYTES:
            return sms
        sentences.pop()


def for_autofill(text: str, code: str, project: Style) -> str:
    """Add the lines by which phones fill in a code by themselves.

    Android's hash may stand anywhere. Browsers and iOS want the domain-bound code in the last line.
    """
    lines = [text]
    if project.android_hash:
        lines.append(project.android_hash)
    if project.web_otp_domain:
        lines.append(f"@{project.web_otp_domain} #{code}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class OwnText:
    """An owner's text. ``subject`` is for e-mail, and empty where ours serves."""

    subject: str
    text: str


# What an app puts in place of the text for some sessions, by project, channel, language and the session's id. The apps
# add to it when they are loaded.
ALTERNATIVES: list[Callable[[int, str, str, str], OwnText | None]] = []


def own_text(project_id: int, channel: str, language: str, session_id: str | None = None) -> OwnText | None:
    """Return the project's own text for the channel and language, or its base language. At most a second old."""
    if session_id is not None:
        for alternative in ALTERNATIVES:
            if found := alternative(project_id, channel, language, session_id):
                return found
    texts = _own_texts.get(project_id, lambda: _load_own_texts(project_id))
    return texts.get((channel, language)) or texts.get((channel, language.partition("-")[0]))


_own_texts: FreshCache[int, dict[tuple[str, str], OwnText]] = FreshCache()


def _load_own_texts(project_id: int) -> dict[tuple[str, str], OwnText]:
    rows = MessageTemplate.objects.filter(project_id=project_id)
    return {(row.channel, row.language): OwnText(row.subject, row.text) for row in rows}


def fill(text: str, values: dict[str, str]) -> str:
    """Replace the known placeholders, each once and in one pass; everything else stays as it is."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


def _ranges(header: str) -> list[str]:
    """Return the languages of the header in lower case, the most wanted first.

    Django reads it part by part, as it passes over the whole of a header of which it cannot read one part.
    """
    found = [each for part in header.split(",") for each in parse_accept_lang_header(part.strip())]
    return [name for name, weight in sorted(found, key=lambda each: -each[1]) if weight and name != "*"]


def texts_for(language: str) -> dict[str, str]:
    """Return the built-in texts in the nearest language that has them, else in English."""
    everything = _texts()
    return everything.get(language) or everything.get(language.partition("-")[0]) or everything[FALLBACK_LANGUAGE]


@lru_cache(maxsize=1)
def _texts() -> dict[str, dict[str, str]]:
    folder = Path(settings.BASE_DIR) / "templates" / "messages"
    return {path.stem: tomllib.loads(path.read_text()) for path in sorted(folder.glob("*.toml"))}
