"""Times, dates, numbers and names of languages as programs and people read them.

Times for people are in the zone that is active, which is UTC but for a reader of the panel.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import get_language, get_language_info

# The years of a time that somebody enters or that a row holds: every zone can write them, and ids begin with the first.
EARLIEST_YEAR, LATEST_YEAR = 1970, 9_000
FIRST_MOMENT = datetime(EARLIEST_YEAR, 1, 1, tzinfo=UTC)
LAST_MOMENT = datetime(LATEST_YEAR, 12, 31, tzinfo=UTC)


def iso_time(at: datetime, timespec: str = "milliseconds") -> str:
    return at.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def grouped(value: float | Decimal, *, places: int | None = None) -> str:
    """Write a number with its thousands apart, and with so many ``places`` after the point."""
    if get_language() is None:  # as makemigrations has it, which compares help texts
        return f"{value:,}" if places is None else f"{value:,.{places}f}"
    return number_format(value, decimal_pos=places, force_grouping=True)


def language_name(code: str) -> str:
    """Return the name of a language in the reader's own, or its code where Django has none."""
    try:
        return str(get_language_info("zh-hans" if code == "zh" else code.lower())["name_translated"])
    except KeyError:
        return code


def language_in_sentence(code: str) -> str:
    """Return the name of a language as it is written after other words: English alone of ours keeps the capital.

    A variety that has no name of its own is told from the language by its code: German (de-AT).
    """
    name = language_name(code)
    if not (get_language() or "en").startswith("en"):
        name = name[:1].lower() + name[1:]
    base = code.partition("-")[0]
    return f"{name} ({code})" if code not in (base, name) and name == language_in_sentence(base) else name


DAY, DAY_AND_TIME = "j M Y", "j M Y, H:i"  # as Django's date formats
DAY_OF_YEAR, DAY_OF_YEAR_AND_TIME = "j M", "j M, H:i"  # where the year says nothing
EXACT, CLOCK = "j M Y, H:i:s", "H:i:s"


def written_date(at: date | datetime, pattern: str) -> str:
    """Write a date: 3 Nov 2026 in English, 3 ноя 2026 in Russian, 3-noy 2026 in Uzbek.

    Django begins each month with a capital, which of the panel's languages English alone does.
    """
    language = get_language() or "en"
    if language.startswith("uz"):
        pattern = pattern.replace(DAY_OF_YEAR, "j-M")
    written = date_format(at, pattern)
    return written if language.startswith("en") else written.lower()


def written_moment(at: datetime, pattern: str) -> str:
    """Write a time in the active zone, and name the zone."""
    return f"{written_date(timezone.localtime(at), pattern)} {zone_name(at)}"


def zone_name(at: datetime) -> str:
    """Return what the active zone is called at this time: UTC, CET; where it has no letters, UTC+5 or UTC-3:30."""
    local = timezone.localtime(at)
    name, offset = local.tzname() or "", local.utcoffset() or timedelta()
    if name.isalpha():
        return name
    hours, minutes = divmod(abs(int(offset.total_seconds())) // 60, 60)
    return f"UTC{'-' if offset < timedelta() else '+'}{hours}{f':{minutes:02}' if minutes else ''}"
