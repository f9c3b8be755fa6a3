"""Sessions: the state of each, and the messages by which its code went out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.db.models import QuerySet, prefetch_related_objects
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.admin.base import display
from verification.admin.base.columns import ChannelColumn, CreatedColumn, ErrorColumn
from verification.admin.base.current_project import current_project_id
from verification.admin.base.pagination import NewestList
from verification.admin.base.permissions import ScopedInline, own_project_ids
from verification.admin.base.statistics_filters import (
    CountryFilter,
    LanguageFilter,
    SessionBetweenFilter,
    SessionProviderFilter,
)
from verification.admin.base.timeline import timeline_context
from verification.admin.base.traffic_admin import CreatedFilter, NewestFirstAdmin, TestLoginFilter
from verification.admin.traffic.search import find_view
from verification.core.ids import is_session_id
from verification.models import Message, Right, Session, SessionState
from verification.services.analytics.timeline.diagnosis import why_none_accepted
from verification.services.analytics.timeline.refusals import refusal_of, why_not_sent

STATE_LOOKS = {
    SessionState.OPEN: "info",
    SessionState.LOCKED: "danger",
    SessionState.VERIFIED: "success",
    SessionState.EXPIRED: "warning",
    SessionState.CANCELLED: "neutral",
}


class SessionStateFilter(admin.SimpleListFilter):
    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state.value, str(state.label)) for state in SessionState]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(state=self.value()) if self.value() in SessionState.values else queryset


class SessionMessageInline(ChannelColumn, ErrorColumn, CreatedColumn, ScopedInline):
    model = Message
    viewers = Right.SEE_TRAFFIC
    fields = readonly_fields = ("link", "channel_label", "status_label", "provider_name", "error_text", "created_time")
    verbose_name_plural = gettext_lazy("messages")
    ordering = ("created_at",)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("provider")

    @admin.display(description=gettext_lazy("Message"))
    def link(self, message: Message) -> str:
        return display.page_link(display.monospace(message.pk), message)

    @admin.display(description=gettext_lazy("Status"))
    def status_label(self, message: Message) -> str:
        return display.format_status(message.status)

    @admin.display(description=gettext_lazy("Provider"))
    def provider_name(self, message: Message) -> str:
        return message.provider.name if message.provider else "–"


def _why_lost(session: Any) -> str:
    """Return why no provider accepted the code, which two columns of a row ask for."""
    if not hasattr(session, "why_lost"):
        session.why_lost = why_none_accepted(session)
    why: str = session.why_lost
    return why


class SessionChangeList(NewestList):
    """Reads the messages of all sessions at once, with their attempts."""

    def prefetch(self, rows: list[Any]) -> None:
        prefetch_related_objects(rows, "messages__attempts")


@admin.register(Session)
class SessionAdmin(NewestFirstAdmin):
    viewers = Right.SEE_TRAFFIC
    empty_text = gettext_lazy("Sessions appear once your app requests a code.")
    has_history = False
    change_form_outer_before_template = "admin/verification/timeline.html"
    list_display = ("short_id", "masked", "channel_label", "state", "short_reason", "tries", "project", "created")
    more_columns = ("language_label", "created_time", "expires_time", "verified_time")
    list_filter = (
        SessionBetweenFilter,
        SessionProviderFilter,
        CountryFilter,
        SessionStateFilter,
        "channel",
        LanguageFilter,
        CreatedFilter,
        TestLoginFilter,
    )
    list_select_related = ("project", "recipient")
    search_fields = ("id",)
    search_help_text = gettext_lazy("Full address or session ID")
    inlines = (SessionMessageInline,)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "number",
                    "project",
                    "recipient_link",
                    "state",
                    "channel_label",
                    "reason",
                    "tries",
                    "language_label",
                )
            },
        ),
        (gettext_lazy("Code"), {"fields": ("alphabet", "challenged", "test")}),
        (gettext_lazy("Times"), {"fields": ("created_time", "expires_time", "verified_time")}),
    )
    readonly_fields = (
        "language_label",
        "number",
        "recipient_link",
        "state",
        "channel_label",
        "reason",
        "tries",
        "alphabet",
        "challenged",
        "test",
        "created_time",
        "expires_time",
        "verified_time",
    )

    @admin.display(description=gettext_lazy("Session"))
    def number(self, session: Session) -> str:
        return str(session.pk)

    challenged = display.column("is_challenged", gettext_lazy("Challenge passed"), display.yes_or_no)
    test = display.column("is_test", gettext_lazy("Test login"), display.yes_or_no)
    created_time = display.column("created_at", gettext_lazy("Created"))
    expires_time = display.column("expires_at", gettext_lazy("Expires"))
    verified_time = display.column("verified_at", gettext_lazy("Verified"))

    @admin.display(description=gettext_lazy("Channel"))
    def channel_label(self, session: Session) -> str:
        channel = display.format_channel(session.channel)
        if not _why_lost(session):
            return channel
        return format_html('{} <span class="ww-muted">{}</span>', channel, _("not sent"))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[NewestList]:
        return SessionChangeList

    def get_queryset(self, request: HttpRequest) -> Any:
        rows: Any = super().get_queryset(request)
        return rows.with_state()

    def get_custom_urls(self) -> tuple[tuple[str, str, Callable[..., HttpResponse]], ...]:
        return (("find/", "verification_find", find_view),)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the timeline above the form."""
        session = self.get_object(request, unquote(object_id))
        context = {"story": timeline_context(request, session)} if session else {}
        response: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **context})
        return response

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Sort by the key, or for one project by the time. The order is the same, as ULIDs tell the time.

        The key has an index of its own; the project's index has the time.
        """
        is_members = not request.user.is_superuser and len(own_project_ids(request)) == 1
        is_one = is_members or current_project_id(request)
        return ("-created_at",) if is_one else ("-id",)

    def look_up(self, request: HttpRequest, rows: Any, term: str) -> Any:
        if is_session_id(term.upper()):
            return rows.filter(pk=term.upper())
        return rows.filter(recipient_id__in=self.recipients(request, term))

    @admin.display(description=gettext_lazy("Session"))
    def short_id(self, session: Session) -> str:
        return display.monospace(session.pk)

    @admin.display(description=gettext_lazy("State"))
    def state(self, session: Any) -> str:
        state = SessionState(session.state)
        return display.label(state.label, STATE_LOOKS[state])

    @admin.display(description=gettext_lazy("Why not sent"))
    def reason(self, session: Session) -> str:
        return " ".join(filter(None, (_why_lost(session), why_not_sent(session)))) or "–"

    @admin.display(description=gettext_lazy("Why not sent"))
    def short_reason(self, session: Session) -> str:
        """Say in few words why no code went out; the session's page has the sentences."""
        if session.channel or session.verified_at:
            return display.excerpt(_why_lost(session) or "–", 40)
        refusal = refusal_of(session)
        without_refusal = _("Bot not started") if session.awaited_channel else _("No send requested")
        short = refusal.title if refusal else without_refusal
        return format_html('<span title="{}">{}</span>', why_not_sent(session), short)

    @admin.display(description=gettext_lazy("Wrong codes"))
    def tries(self, session: Session) -> str:
        return _("{max} of {attempts_max}").format(
            max=max(0, session.attempts - bool(session.verified_at)), attempts_max=session.attempts_max
        )

    @admin.display(description=gettext_lazy("Kind"))
    def alphabet(self, session: Session) -> str:
        if session.code_digits and session.code_letters:
            return _("{number} digits and letters").format(number=session.code_length)
        kind = _("{number} digits") if session.code_digits else _("{number} letters")
        return kind.format(number=session.code_length)
