"""The timeline of a verification, on the pages of sessions and messages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from verification.admin.base.display import format_exact_time, page_address, time_label
from verification.admin.base.navigation import menu_title
from verification.core.addresses import mask
from verification.core.formats import EXACT, zone_name
from verification.models import Message, Session
from verification.services.analytics.timeline import read
from verification.services.analytics.timeline.words import Advice, Tone, is_own_test, lasted

ICONS = {Tone.PLAIN: "radio_button_unchecked", Tone.GOOD: "check_circle", Tone.FAIR: "warning", Tone.BAD: "error"}
STATES = {Tone.PLAIN: "plain", Tone.GOOD: "good", Tone.FAIR: "fair", Tone.BAD: "bad"}  # of the line above the timeline


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One event. ``since`` counts from the start; ``clock`` is the time of day, with milliseconds."""

    icon: str
    tone: str
    since: str
    clock: str
    exact: str
    iso: str
    text: str
    detail: str
    request: str
    link: str


def timeline_context(request: HttpRequest, row: Session | Message) -> dict[str, Any]:
    """Return the context of ``timeline.html``. The row is one that the user may see."""
    timeline = read.read_timeline(row)
    rows, diagnosis = timeline.rows, timeline.diagnosis
    return {
        "sentence": diagnosis.sentence,
        "state": STATES[diagnosis.tone],
        "icon": ICONS[diagnosis.tone],
        "advice": [(advice.text, *_where(request, advice)) for advice in diagnosis.advice],
        "lines": list(_timeline_rows(request, timeline, row)),
        "to": mask(rows.recipient.address),
        "recipient": page_address(rows.recipient),
        "project": rows.project,
        "zone": zone_name(rows.began_at),
        "began": time_label(rows.began_at, EXACT),
        "is_manual": rows.session is None,
        "is_test": isinstance(row, Message) and is_own_test(row),
        # A message's page shows the story of its session, which has a page of its own.
        "session": rows.session and page_address(rows.session) if isinstance(row, Message) else "",
    }


def _timeline_rows(request: HttpRequest, timeline: read.Timeline, current: Model) -> Iterator[TimelineRow]:
    began = timeline.rows.began_at
    for place, event in enumerate(timeline.events):
        is_here = event.row is None or event.row == current
        yield TimelineRow(
            icon=ICONS[event.tone],
            tone=STATES[event.tone],
            since=_since(event.at, began, place),
            clock=_clock(event.at),
            exact=format_exact_time(event.at),
            iso=event.at.isoformat(),
            text=event.text,
            detail=event.detail,
            request=event.request,
            link="" if is_here else _page_of(request, event.row),
        )


def _since(at: datetime, began: datetime, place: int) -> str:
    return _("Start") if place == 0 else f"+{lasted(at - began)}"


def _where(request: HttpRequest, advice: Advice) -> tuple[str, str]:
    """Return the page on which a next step is taken, and its name; empty where there is none for this user."""
    if advice.row is not None:
        return _page_of(request, advice.row), str(advice.row)
    link = reverse(f"admin:verification_{advice.page}_changelist") if advice.page else ""
    return link, menu_title(link, default="")


def _page_of(request: HttpRequest, row: Model | None) -> str:
    """Return the row's page if the user may open it: a system provider's is the operator's alone."""
    if row is None or not admin.site.is_registered(type(row)):
        return ""
    page = admin.site.get_model_admin(type(row))
    return page_address(row) if page.has_view_permission(request, row) else ""


def _clock(moment: datetime) -> str:
    local = timezone.localtime(moment)
    return f"{local:%H:%M:%S}.{local.microsecond // 1000:03}"
