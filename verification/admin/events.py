"""Events for the customers' servers: what each told, how it was answered, and sending it again."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from unfold.decorators import action

from verification.admin.auth.reauthentication import skip_reauthentication
from verification.admin.base import display
from verification.admin.base.columns import LatencyColumn
from verification.admin.base.permissions import ScopedInline
from verification.admin.base.traffic_admin import CreatedFilter, NewestFirstAdmin
from verification.core.formats import DAY_OF_YEAR_AND_TIME, EXACT, written_moment
from verification.core.ids import is_session_id
from verification.core.numbers import whole_number
from verification.models import EventType, Right, WebhookAttempt, WebhookEvent
from verification.services.notifications.events import described, send_again
from verification.services.notifications.payloads import body_of


class EventStateFilter(admin.SimpleListFilter):
    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("delivered", _("Delivered")),
            ("waiting", _("In progress")),
            ("given_up", _("Failed")),
            ("kept", _("Not sent")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[WebhookEvent]) -> QuerySet[WebhookEvent]:
        states = {
            "delivered": Q(delivered_at__isnull=False),
            "waiting": Q(due_at__isnull=False),
            "given_up": Q(due_at=None, delivered_at=None, tries__gt=0),
            "kept": Q(due_at=None, delivered_at=None, tries=0),
        }
        chosen = states.get(self.value() or "")
        return queryset if chosen is None else queryset.filter(chosen)


class WebhookAttemptInline(LatencyColumn, ScopedInline):
    model = WebhookAttempt
    viewers = Right.SEE_TRAFFIC
    project_path = "event__project"
    fields = readonly_fields = ("at", "answer", "error_text", "latency")
    verbose_name_plural: Any = gettext_lazy("attempts")

    @admin.display(description=gettext_lazy("Time"))
    def at(self, attempt: WebhookAttempt) -> str:
        return display.time_label(attempt.created_at, EXACT)

    @admin.display(description=gettext_lazy("Response"))
    def answer(self, attempt: WebhookAttempt) -> str:
        if attempt.status is None:
            return display.label(_("None"), "danger")
        return display.label(f"HTTP {attempt.status}", "success" if 200 <= attempt.status < 300 else "danger")

    @admin.display(description=gettext_lazy("Error"))
    def error_text(self, attempt: WebhookAttempt) -> str:
        """Show the error where it says more than the answer does."""
        return "–" if attempt.error == f"HTTP {attempt.status}" else display.format_error(attempt.error)


@admin.register(WebhookEvent)
class EventAdmin(NewestFirstAdmin):
    viewers = Right.SEE_TRAFFIC
    actors = Right.CHANGE
    empty_text = gettext_lazy(
        "Events appear once your server sends a message with a callback_url, or the project subscribes to"
        " session events."
    )
    list_display = ("what", "about", "state", "tries", "number", "project", "created")
    list_filter = ("type", EventStateFilter, CreatedFilter)
    list_select_related = ("project",)
    search_fields = ("message",)
    search_help_text = gettext_lazy("Full ID of an event, message or session")
    ordering = ("-created_at",)
    actions: Any = ("send_again_selected",)
    actions_detail = ("send_again",)
    inlines = (WebhookAttemptInline,)
    fieldsets = (
        (None, {"fields": ("what", "about_link", "project", "address", "number", "state", "tries")}),
        (gettext_lazy("Times"), {"fields": ("created_time", "delivered_time")}),
        (gettext_lazy("Content"), {"fields": ("body",)}),
    )
    readonly_fields = ("what", "about_link", "address", "number", "state", "created_time", "delivered_time", "body")

    created_time = display.column("created_at", gettext_lazy("Created"))
    delivered_time = display.column("delivered_at", gettext_lazy("Delivered"))

    def get_intro(self, request: HttpRequest) -> str:
        intro = _(
            "Webhooks notify your server of the outcome of manual sends that have a"
            " <code>callback_url</code>, and of the session events the project subscribes to. Failed webhooks"
            " are retried at growing intervals. After the last attempt, you can send one again from its page."
        )
        guide = _("How it works")
        return f'{intro} <a class="ww-link" href="/docs/guides/events/">{guide}</a>'

    def look_up(self, request: HttpRequest, rows: Any, term: str) -> Any:
        if is_session_id(term.upper()):
            return rows.filter(session=term.upper())
        if term.startswith("evt_"):
            event_id = whole_number(term.removeprefix("evt_"))
            return rows.none() if event_id is None else rows.filter(pk=event_id)
        message_id = whole_number(term.removeprefix("msg_"))
        return rows.none() if message_id is None else rows.filter(message=message_id)

    @admin.display(description=gettext_lazy("Webhook ID"))
    def number(self, event: WebhookEvent) -> str:
        return display.monospace(event.webhook_id)

    @admin.display(description=gettext_lazy("Event"), ordering="type")
    def what(self, event: WebhookEvent) -> str:
        return str(EventType(event.type).label)

    @admin.display(description=gettext_lazy("About"))
    def about(self, event: WebhookEvent) -> str:
        return display.monospace(event.message_id or event.session_id or event.subject)

    @admin.display(description=gettext_lazy("About"))
    def about_link(self, event: WebhookEvent) -> str:
        row = event.session if event.message_id is None else event.message
        return display.page_link(self.about(event), row) if row else self.about(event)

    @admin.display(description=gettext_lazy("Address"))
    def address(self, event: WebhookEvent) -> str:
        return event.url or event.project.event_url or "–"

    @admin.display(description=gettext_lazy("State"), ordering="due_at")
    def state(self, event: WebhookEvent) -> str:
        if event.delivered_at:
            return display.label(_("Delivered"), "success")
        if event.due_at is None:
            return display.label(_("Failed"), "danger") if event.tries else display.label(_("Not sent"))
        if event.due_at <= timezone.now():
            return display.label(_("Due now"), "info")
        return display.label(
            _("Retry {time}").format(time=written_moment(event.due_at, DAY_OF_YEAR_AND_TIME)), "warning"
        )

    @admin.display(description=gettext_lazy("Body"))
    def body(self, event: WebhookEvent) -> str:
        """Show the body, the recipient masked whatever the customer's server is told."""
        payload = body_of(described(event)._replace(shows_recipient=False))
        return format_html('<pre class="ww-body">{}</pre>', json.dumps(payload, indent=2, ensure_ascii=False))

    @skip_reauthentication
    @action(description=gettext_lazy("Send again"), icon="replay", permissions=["act"], url_path="send-again")
    def send_again(self, request: HttpRequest, object_id: str) -> HttpResponse:
        event: WebhookEvent = self.find(request, object_id)
        url = event.url or event.project.event_url
        if not url:
            return self.refuse(request, event, _("The project has no event webhook URL. Set one in its settings."))
        if request.method != "POST":
            return self.ask(
                request,
                _("Send again"),
                row=event,
                intro=_(
                    "Sends the event to {host} again with the same webhook-id and restarts the retry schedule."
                ).format(host=urlsplit(url).hostname),
                submit=_("Send again"),
            )
        self._send_again(request, event)
        return HttpResponseRedirect(display.page_address(event))

    @admin.action(description=gettext_lazy("Send selected again"), permissions=["act"])
    def send_again_selected(self, request: HttpRequest, queryset: QuerySet[WebhookEvent]) -> None:
        for event in queryset.select_related("project"):
            if event.url or event.project.event_url:
                self._send_again(request, event)

    def _send_again(self, request: HttpRequest, event: WebhookEvent) -> None:
        send_again(event)
        self.log_change(request, event, gettext_noop("Sent again"))
        self.message_user(
            request,
            _("The event {event} will be sent within seconds.").format(event=event.webhook_id),
            messages.SUCCESS,
        )
