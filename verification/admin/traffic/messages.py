"""Messages: what became of each, and every attempt to hand it to a provider."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import QuerySet
from django.db.models.expressions import RawSQL
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from verification.admin.auth.session import BY_ITSELF
from verification.admin.base import display
from verification.admin.base.columns import ChannelColumn, ErrorColumn, LatencyColumn
from verification.admin.base.current_project import current_project_ids
from verification.admin.base.pagination import MAX_COUNT
from verification.admin.base.permissions import ScopedInline
from verification.admin.base.statistics_filters import (
    BETWEEN,
    BetweenFilter,
    CountryFilter,
    LanguageFilter,
    ProviderFilter,
)
from verification.admin.base.timeline import timeline_context
from verification.admin.base.traffic_admin import CreatedFilter, TestLoginFilter
from verification.admin.costs.invoice import invoice_view
from verification.admin.costs.page import costs_view
from verification.admin.figures.page import figures_view
from verification.admin.traffic.inbox import inbox_view
from verification.admin.traffic.message_csv import MessageCsvColumns
from verification.admin.traffic.send_test import LIVE
from verification.core.ids import is_session_id
from verification.core.numbers import whole_number
from verification.models import DeliveryAttempt, Message, MessageStatus, Right, sees_addresses
from verification.models.messages import FINAL, LOST
from verification.services.analytics.delivery_state import waiting_messages
from verification.services.analytics.timeline.events import cost_words
from verification.services.analytics.timeline.words import manual_kind

RELOAD_SECONDS = 2  # between two loads of a page that follows a message
FOLLOWED_FOR = timedelta(minutes=10)  # as long as a message lives; a page that was forgotten reloads no longer

OUTCOME_VARIANTS = {
    "accepted": "success",
    "temporary": "warning",
    "rate_limited": "warning",
    "postponed": "warning",
    "recipient_limited": "warning",
    "unknown": "warning",
    "unclear": "warning",
    "not_applicable": "neutral",
    "declined": "neutral",
}


class StatusFilter(admin.SimpleListFilter):
    """A filter by status, or by the statuses that the overview counts together."""

    title = gettext_lazy("status")
    parameter_name = "status"

    @property
    def is_cut(self) -> bool:
        """Return whether the filter lets through the newest messages alone: of those that were lost, a page's count."""
        return self.is_of_lost and BETWEEN not in self.request.GET

    @property
    def is_of_lost(self) -> bool:
        return self.value() in (*LOST, "lost")

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        together = [("lost", _("Failed or expired")), ("waiting", _("Waiting for over a minute"))]
        return [*((value, str(text)) for value, text in MessageStatus.choices), *together]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Message]) -> QuerySet[Message]:
        value = self.value()
        if value == "waiting":
            return waiting_messages(queryset)
        statuses: tuple[str, ...] = LOST if value == "lost" else (value or "",)
        if self.is_cut and not request.GET.get(SEARCH_VAR):
            return newest_lost(queryset, current_project_ids(request), statuses, MAX_COUNT + 1)
        return queryset.filter(status__in=statuses) if self.is_of_lost or value in MessageStatus.values else queryset


def newest_lost(
    messages: QuerySet[Message], projects: Iterable[int], statuses: Iterable[str], number: int
) -> QuerySet[Message]:
    """Narrow ``messages`` to the newest ``number`` of these projects that failed or expired, by the function's ids."""
    found = RawSQL("SELECT newest_lost(%s::bigint[], %s::text[], %s)", (list(projects), list(statuses), number))
    return messages.filter(pk__in=found)


def is_under_way(message: Message) -> bool:
    """Return whether a page that follows the message loads itself anew: not for long after its creation."""
    return message.status not in FINAL and message.created_at > timezone.now() - FOLLOWED_FOR


def without_ids(fields: Any, request: HttpRequest, message: Message | None) -> Any:
    """Leave out the vendor's id for a user who may not see addresses.

    It may hold the recipient's number, as WhatsApp's do.
    """
    sees = message is not None and sees_addresses(request.user, message.project_id)
    return fields if sees else tuple(name for name in fields if name != "vendor_message_id")


class DeliveryAttemptInline(ErrorColumn, LatencyColumn, ScopedInline):
    model = DeliveryAttempt
    viewers = Right.SEE_TRAFFIC
    project_path = "message__project"
    fields = readonly_fields = (
        "name",
        "reason",
        "outcome_label",
        "answer",
        "vendor_message_id",
        "error_text",
        "cost",
        "latency",
        "created_time",
    )
    verbose_name_plural = gettext_lazy("delivery attempts")

    @admin.display(description=gettext_lazy("Provider"))
    def name(self, attempt: DeliveryAttempt) -> str:
        return attempt.provider_name or "–"

    @admin.display(description=gettext_lazy("Response"))
    def answer(self, attempt: DeliveryAttempt) -> str:
        return attempt.provider_status or "–"

    @admin.display(description=gettext_lazy("Provider's ID"))
    def vendor_message_id(self, attempt: DeliveryAttempt) -> str:
        return attempt.provider_message_id or "–"

    created_time = display.column("created_at", gettext_lazy("Time"))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return without_ids(self.fields, request, obj)

    @admin.display(description=gettext_lazy("Cost"))
    def cost(self, attempt: DeliveryAttempt) -> str:
        return cost_words(attempt, attempt.message.channel) or "–"

    @admin.display(description=gettext_lazy("Reason"))
    def reason(self, attempt: DeliveryAttempt) -> str:
        return attempt.get_choice_display() if attempt.choice else "–"

    @admin.display(description=gettext_lazy("Outcome"))
    def outcome_label(self, attempt: DeliveryAttempt) -> str:
        words = display.OUTCOMES.get(attempt.outcome, attempt.outcome)
        return display.label(words, OUTCOME_VARIANTS.get(attempt.outcome, "danger"))


@admin.register(Message)
class MessageAdmin(ChannelColumn, MessageCsvColumns):
    viewers = Right.SEE_TRAFFIC
    empty_text = gettext_lazy("Messages appear once your app requests a code or your server sends one.")
    has_history = False
    change_form_outer_before_template = "admin/verification/timeline.html"
    list_display = (
        "short_id",
        "masked",
        "channel_label",
        "status_label",
        "kind",
        "provider_label",
        "error_text",
        "project",
        "created",
    )
    more_columns = ("language_label", "session_number", "took", "sent_time", "finished_time")
    list_filter = (
        BetweenFilter,
        ProviderFilter,
        CountryFilter,
        StatusFilter,
        "channel",
        LanguageFilter,
        CreatedFilter,
        TestLoginFilter,
    )
    list_select_related = ("project", "recipient", "provider")
    search_fields = ("id",)
    search_help_text = gettext_lazy("Full address, message ID or session ID")
    ordering = ("-created_at",)
    inlines = (DeliveryAttemptInline,)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "number",
                    "project",
                    "recipient_link",
                    "channel_label",
                    "language_label",
                    "kind",
                    "session_link",
                )
            },
        ),
        (
            gettext_lazy("Delivery"),
            {
                "fields": (
                    "status_label",
                    "full_error",
                    "provider_label",
                    "vendor_message_id",
                    "pinned",
                    "taken",
                    "callback_to",
                )
            },
        ),
        (gettext_lazy("Times"), {"fields": ("created_time", "sent_time", "finished_time", "expires_time", "took")}),
    )
    readonly_fields = (
        "language_label",
        "recipient_link",
        "channel_label",
        "kind",
        "session_link",
        "status_label",
        "full_error",
        "provider_label",
        "number",
        "vendor_message_id",
        "pinned",
        "taken",
        "callback_to",
        "created_time",
        "sent_time",
        "finished_time",
        "expires_time",
        "took",
    )

    @admin.display(description=gettext_lazy("Message"))
    def number(self, message: Message) -> str:
        return str(message.pk)

    @admin.display(description=gettext_lazy("Provider's message ID"))
    def vendor_message_id(self, message: Message) -> str:
        return message.provider_message_id or "–"

    @admin.display(description=gettext_lazy("Callback URL"))
    def callback_to(self, message: Message) -> str:
        return message.callback_url or "–"

    created_time = display.column("created_at", gettext_lazy("Created"))

    @admin.display(description=gettext_lazy("Error"))
    def full_error(self, message: Message) -> str:
        return display.format_error(message.error)

    sent_time = display.column("sent_at", gettext_lazy("Sent"))
    finished_time = display.column("finished_at", gettext_lazy("Completed"))
    expires_time = display.column("expires_at", gettext_lazy("Expires"))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return [
            (title, {**options, "fields": without_ids(options["fields"], request, obj)})
            for title, options in self.fieldsets
        ]

    def get_custom_urls(self) -> tuple[tuple[str, str, Callable[..., HttpResponse]], ...]:
        return (
            ("inbox/", "verification_inbox", inbox_view),
            ("figures/", "verification_figures", figures_view),
            ("costs/", "verification_costs", costs_view),
            ("costs/invoice/", "verification_invoice", invoice_view),
        )

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the timeline above the form: for a message of a session, the timeline of the session."""
        message = self.get_object(request, unquote(object_id))
        context: dict[str, Any] = {"story": timeline_context(request, message)} if message else {}
        if follows := message is not None and LIVE in request.GET and is_under_way(message):
            context["reload_seconds"] = RELOAD_SECONDS
        response: HttpResponse = super().change_view(request, object_id, form_url, {**(extra_context or {}), **context})
        if follows:
            response["Refresh"] = f"{RELOAD_SECONDS}; url=?{LIVE}&{BY_ITSELF}"
        return response

    @admin.display(description=gettext_lazy("Delivery attempts (worker)"))
    def taken(self, message: Message) -> str:
        times = ngettext("{number} time", "{number} times", message.claims).format(number=message.claims)
        if not message.lost_leases:
            return times
        return _(
            "{times}, of which {lost_leases} interrupted: the worker stopped or could not record the outcome,"
            " so a provider may have sent the message without an attempt shown below"
        ).format(times=times, lost_leases=message.lost_leases)

    def has_index_for(self, used: dict[str, Any]) -> bool:
        return used.get("status") in (*LOST, "lost", "waiting")

    def look_up(self, request: HttpRequest, rows: Any, term: str) -> Any:
        if (message_id := whole_number(term)) is not None:
            return rows.filter(pk=message_id)
        if is_session_id(term.upper()):
            return rows.filter(session_id=term.upper())
        return rows.filter(recipient_id__in=self.recipients(request, term))

    @admin.display(description=gettext_lazy("Message"))
    def short_id(self, message: Message) -> str:
        return display.monospace(message.pk)

    @admin.display(description=gettext_lazy("Status"))
    def status_label(self, message: Message) -> str:
        return display.format_status(message.status)

    @admin.display(description=gettext_lazy("Kind"))
    def kind(self, message: Message) -> str:
        if message.is_test:
            return _("Session, test login")
        return _("Session") if message.session_id else manual_kind(message)

    @admin.display(description=gettext_lazy("Provider"))
    def provider_label(self, message: Message) -> str:
        """Name the provider without a link: a system provider's page is not for members."""
        return format_html('<span class="ww-nowrap">{}</span>', message.provider.name) if message.provider else "–"

    @admin.display(description=gettext_lazy("Pinned provider"))
    def pinned(self, message: Message) -> str:
        return message.pinned_provider.name if message.pinned_provider else "–"

    @admin.display(description=gettext_lazy("Error"))
    def error_text(self, message: Message) -> str:
        return display.excerpt(display.format_error(message.error), 40)

    @admin.display(description=gettext_lazy("Session"))
    def session_link(self, message: Message) -> str:
        return display.page_link(display.monospace(message.session_id), message.session) if message.session else "–"

    @admin.display(description=gettext_lazy("Session"))
    def session_number(self, message: Message) -> str:
        return display.monospace(message.session_id)

    @admin.display(description=gettext_lazy("Accepted by a provider after"))
    def took(self, message: Message) -> str:
        return display.format_duration(message.created_at, message.sent_at)
