"""The texts that people receive: found by language, filled in one pass, never run as a template."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.template.loader import render_to_string

from verification.models import ChannelType

FALLBACK_LANGUAGE = "en"
MAX_ACCEPT_LANGUAGE = 1_000  # characters of the header that are read
RIGHT_TO_LEFT = frozenset({"ar", "fa", "he", "ur"})

_PLACEHOLDER = re.compile(r"\{(code|project|minutes)\}")
_RANGE = re.compile(r"([A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*|\*)(?:\s*;\s*q=([01](?:\.[0-9]{0,3})?))?")


@dataclass(frozen=True, slots=True)
class Rendered:
    """``subject`` and ``html`` are for e-mail and empty elsewhere."""

    text: str
    subject: str = ""
    html: str = ""


def languages() -> tuple[str, ...]:
    """The languages there are built-in texts in."""
    return tuple(_texts())


def best_language(accept_language: str, offered: Sequence[str]) -> str | None:
    """The best match of an ``Accept-Language`` header (RFC 9110) among ``offered``, or None.

    Nothing offered means every language there is a text in. ``de-AT`` is served by ``de``.
    """
    offered = offered or languages()
    by_name = {language.lower(): language for language in offered}
    for wanted in _ranges(accept_language[:MAX_ACCEPT_LANGUAGE]):
        while wanted:
            if wanted in by_name:
                return by_name[wanted]
            wanted = wanted.rpartition("-")[0]
    return None


def render_message(*, channel: str, language: str, code: str, project: str, minutes: int) -> Rendered:
    """The message in ``language``, or the nearest there is a text in. ``minutes`` is the rest of the code's life."""
    texts = texts_for(language)
    values = {"code": code, "project": project, "minutes": str(minutes)}
    if channel == ChannelType.EMAIL:
        subject = fill(texts["email_subject"], values)
        body = fill(texts["email_text"], values)
        page = render_to_string(
            "messages/email.html",
            {
                "language": language,
                "direction": "rtl" if language.partition("-")[0] in RIGHT_TO_LEFT else "ltr",
                "project": project,
                "code": code,
                "intro": fill(texts["email_intro"], values),
                "validity": fill(texts["validity"], values),
                "ignore": fill(texts["ignore"], values),
            },
        )
        return Rendered(body, subject, page)
    if channel == ChannelType.VOICE:
        spoken = {**values, "code": ", ".join(code)}
        return Rendered(fill(texts["voice"], spoken))
    return Rendered(fill(texts["sms"], values))


def fill(text: str, values: dict[str, str]) -> str:
    """Replace the known placeholders, each once and in one pass; everything else stays as it is."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)


def _ranges(header: str) -> list[str]:
    """The languages of the header in lower case, the most wanted first."""
    found: list[tuple[float, str]] = []
    for part in header.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match and match[1] != "*":
            weight = float(match[2] or 1)
            if weight > 0:
                found.append((weight, match[1].lower()))
    return [name for _, name in sorted(found, key=lambda item: -item[0])]


def texts_for(language: str) -> dict[str, str]:
    """The built-in texts in the nearest language there is."""
    everything = _texts()
    return everything.get(language) or everything.get(language.partition("-")[0]) or everything[FALLBACK_LANGUAGE]


@lru_cache(maxsize=1)
def _texts() -> dict[str, dict[str, str]]:
    folder = Path(settings.BASE_DIR) / "templates" / "messages"
    return {path.stem: tomllib.loads(path.read_text()) for path in sorted(folder.glob("*.toml"))}
