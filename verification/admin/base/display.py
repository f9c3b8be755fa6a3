"""Values as the pages write them: labels, times, channels. Everything that is not ours is escaped."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from django.contrib import admin
from django.db.models import Model
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.core.formats import DAY_AND_TIME, EXACT, grouped, written_date, written_moment
from verification.models import ChannelType, MessageStatus

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

STATUS_VARIANTS = {
    MessageStatus.QUEUED: "neutral",
    MessageStatus.SENDING: "info",
    MessageStatus.SENT: "info",
    MessageStatus.SUCCESS: "success",
    MessageStatus.FAILED: "danger",
    MessageStatus.EXPIRED: "warning",
}

OUTCOMES = {  # of an attempt, as the adapters name them
    "accepted": gettext_lazy("Accepted"),
    "not_applicable": gettext_lazy("Not applicable"),
    "refused": gettext_lazy("Refused"),
    "declined": gettext_lazy("Declined"),
    "no_account": gettext_lazy("No account"),
    "opted_out": gettext_lazy("Opted out"),
    "misconfigured": gettext_lazy("Misconfigured"),
    "out_of_funds": gettext_lazy("Out of funds"),
    "postponed": gettext_lazy("Postponed"),
    "recipient_limited": gettext_lazy("Recipient limited"),
    "rate_limited": gettext_lazy("Rate limited"),
    "temporary": gettext_lazy("Temporary"),
    "unknown": gettext_lazy("Unknown"),
    "unclear": gettext_lazy("Unclear"),
}


NEXT = "next"  # in the address of a form: the page that saving leads to
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=\D)(?![^<>]*>)")  # the space after a number, outside of tags


def keep_units(text: str) -> str:
    """Return a sentence, or its HTML, in which no line begins with a unit."""
    return _BEFORE_UNIT.sub("\u00a0", text)


def label(text: object, variant: str = "neutral") -> SafeString:
    return format_html('<span class="ww-label ww-{}">{}</span>', variant, text)


def page_address(row: Model) -> str:
    """Return the path of the row's own page."""
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=(row.pk,))


def page_link(text: object, row: Model, *, back: str = "") -> SafeString:
    """Return a link to the row's own page, from which saving leads ``back`` to an address, where one is given."""
    address = page_address(row)
    if back:
        address = f"{address}?{urlencode({NEXT: back})}"
    return format_html('<a class="ww-link" href="{}">{}</a>', address, text)


def format_status(value: str) -> SafeString:
    return label(MessageStatus(value).label, STATUS_VARIANTS[MessageStatus(value)])


def format_channel(value: str) -> SafeString:
    if value not in ChannelType.values:
        return SafeString("–")
    return format_html(
        '<span class="ww-channel"><img src="{}" alt="" width="20" height="20">{}</span>',
        channel_icon(value),
        ChannelType(value).label,
    )


def channel_icon(value: str) -> str:
    return static(f"verification/channels/{value}.svg")


def monospace(text: object) -> SafeString:
    """Return a text in letters of one width, to be read one by one: a number, an id, the beginning of a key."""
    return format_html('<span class="ww-code">{}</span>', text) if text else SafeString("–")


def format_country(text: str) -> SafeString:
    """Return a country's ISO code, before which ``countries.js`` writes its name."""
    return format_html('<span class="ww-nowrap" data-country="{}">{}</span>', text, text)


def format_language(code: str | None) -> SafeString:
    """Return a language's code, before which ``countries.js`` writes its name."""
    if not code:
        return SafeString("–")
    return format_html('<span class="ww-nowrap" data-language="{}">{}</span>', code, code)


def excerpt(text: str | None, length: int = 60) -> SafeString:
    """Return a text's beginning; the pointer that rests on it shows the whole."""
    if not text:
        return SafeString("–")
    return format_html(
        '<span title="{}">{}</span>', text, text if len(text) <= length else f"{text[: length - 1].rstrip()}…"
    )


def format_error(text: str | None) -> str:
    """Return why something failed, with a capital: providers' words often begin without one."""
    return capfirst(text or "") or "–"


def format_time(moment: datetime | None) -> str:
    """Write a time to the minute in the reader's zone, for a sentence; elsewhere :func:`time_label` adds the UTC."""
    return "–" if moment is None else written_moment(moment, DAY_AND_TIME)


def format_exact_time(moment: datetime) -> str:
    return written_moment(moment, EXACT)


def time_label(moment: datetime | None, pattern: str = DAY_AND_TIME) -> str:
    """Return a time in the reader's zone; the pointer that rests on it shows the time in UTC."""
    if moment is None:
        return "–"
    here, utc = written_moment(moment, pattern), _in_utc(moment)
    if here.endswith(" UTC"):
        return here
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), utc, here)


def _in_utc(moment: datetime) -> str:
    return f"{written_date(moment.astimezone(UTC), EXACT)} UTC"


def time_ago(moment: datetime) -> str:
    seconds = max(0, int((timezone.now() - moment).total_seconds()))
    if seconds < 60:
        return _("{seconds} s ago").format(seconds=seconds)
    if seconds < 3600:
        return _("{number} min ago").format(number=seconds // 60)
    if seconds < 86_400:
        return _("{number} h ago").format(number=seconds // 3600)
    return format_time(moment)


def time_ago_label(moment: datetime | None) -> SafeString:
    """Return how long ago a time was; the pointer that rests on it shows the exact time."""
    if moment is None:
        return SafeString("–")
    here, utc = format_exact_time(moment), _in_utc(moment)
    exact = here if here == utc else f"{here} = {utc}"
    return format_html('<span class="ww-nowrap" title="{}">{}</span>', exact, time_ago(moment))


def format_duration(start: datetime | None, end: datetime | None) -> str:
    if start is None or end is None:
        return "–"
    passed = end - start
    if passed < timedelta(seconds=10):
        return _("{number} s").format(number=grouped(passed.total_seconds(), places=1))
    return _("{number} s").format(number=int(passed.total_seconds()))


def yes_or_no(value: object) -> str:
    """Return a flag as a word. Unfold's red cross would make every No look like a fault."""
    return _("Yes") if value else _("No")


def column(name: str, title: StrOrPromise, show: Callable[[Any], str] = time_label, ordering: str | None = None) -> Any:
    """Return the method of a page that shows one value of its rows."""

    @admin.display(description=title, ordering=ordering)
    def shown(self: Any, row: Any) -> str:
        return show(getattr(row, name))

    return shown
