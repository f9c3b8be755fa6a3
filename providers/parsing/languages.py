"""An owner's list of languages, for services with names of their own for them: one ``uz=ru-RU`` a line."""

from __future__ import annotations

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _

WANTED = _("enter one language per line, such as en=en_US")


def is_mapping(text: str) -> bool:
    return all(left.strip() and right.strip() for left, right in _lines(text))


def choose(language: str, text: str, built_in: Mapping[str, str] | None = None) -> str:
    """Return the service's name for ``language``, or else for its first subtag; empty if neither is known.

    The owner's list in ``text`` comes before ``built_in``.
    """
    listed = {left.strip().lower(): right.strip() for left, right in _lines(text)}
    known = {**(built_in or {}), **listed}
    wanted = language.replace("_", "-").lower()
    return known.get(wanted) or known.get(wanted.partition("-")[0]) or ""


def _lines(text: str) -> list[tuple[str, str]]:
    parts = (line.partition("=") for line in text.splitlines() if line.strip())
    return [(left.replace("_", "-"), right) for left, _, right in parts]
