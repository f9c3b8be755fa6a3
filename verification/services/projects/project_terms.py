"""The terms of a project: the limits and choices that the SQL functions obey, by their names, as one JSON document.

A new limit of what one recipient is sent, or of wrong codes, is a window here, or if it is one value an entry of
``terms_for`` in ``snapshot.py``, and the statement that obeys it; no function's parameters change. Limits per client
address or second are counted in `protection/limits.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from django.utils.translation import gettext_lazy as _

from verification import sql
from verification.core.session_rules import WRONG_CODES_DIVISORS

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of time up to now, and the setting that limits what may happen to one recipient within it."""

    setting: str
    name: StrOrPromise  # as owners read it
    seconds: int
    is_lifted_by_challenge: bool = False  # for a session that passed a challenge


SENDS = (
    Window("sends_per_10_minutes", _("10 minutes"), 600),
    Window("sends_per_hour", _("an hour"), 3_600),
    Window("sends_per_day", _("a day"), 86_400),
)
WRONG_CODES = (
    # A stranger's guesses can use up the short window. They must not keep out the owner of a number, who can pass.
    Window("wrong_codes_per_15_minutes", _("15 minutes"), 900, is_lifted_by_challenge=True),
    Window("wrong_codes_per_day", _("a day"), 86_400),
)
DAY_SECONDS = 86_400
# For how many days a limit counts rows, rounded up. Rows are kept for as long, also of recipients who were erased.
LONGEST_DAYS = max(-(-window.seconds // DAY_SECONDS) for window in (*SENDS, *WRONG_CODES))
GUESSING = {  # each term of the rule on guesses from many networks (sql/protection/strangers.sql), and its setting
    "assumed": "guess_assumed",  # wrong codes of all networks beyond which an attack is assumed
    "heavy": "guess_heavy",  # and beyond which it is a heavy one
    "subnet_day": "guess_subnet_day",  # wrong codes that one subnet may enter in a day
    "subnet_tries": "guess_subnet_tries",  # and during an attack
}


def limits_of(windows: Iterable[Window], settings: Mapping[str, int]) -> dict[str, Any]:
    """Return the terms of some windows, with the longest of them and the highest limit, which bound what is read."""
    terms = [
        {"seconds": window.seconds, "limit": settings[window.setting]}
        | ({"lifted_by_challenge": True} if window.is_lifted_by_challenge else {})
        for window in windows
    ]
    return {
        "windows": terms,
        "seconds": max(term["seconds"] for term in terms),
        "rows": max(term["limit"] for term in terms),
    }


def wrong_code_limits(settings: Mapping[str, int]) -> dict[str, Any]:
    """Return the terms on wrong codes, with the divisor of the limits for each length of a code."""
    return limits_of(WRONG_CODES, settings) | {
        "divisors": {str(length): divisor for length, divisor in WRONG_CODES_DIVISORS.items()}
    }


def with_erased(shared: Any, erased: str) -> Any:
    """Return serialised terms with what the platform's limit knows the erased recipient by."""
    return sql.Jsonb(b'{"erased":"%s",' % erased.encode() + shared.obj[1:], dumps=bytes)


def serialised(terms: Mapping[str, Any]) -> Any:
    """Return the terms as a parameter of SQL functions. They are put into JSON once, for however many calls."""
    text = orjson.dumps(terms)
    return sql.Jsonb(text, dumps=bytes)
