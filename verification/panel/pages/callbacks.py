"""Callbacks to the customers' servers: what each told, how it was answered, and sending it again."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from unfold.decorators import action

from verification.lazy_words import gettext_lazy
from verification.models import Callback, CallbackAttempt, Right
from verification.panel.door.confirmation import without_asking
from verification.panel.frame import display
from verification.panel.frame.display import time_of, when
from verification.panel.frame.scoping import ProjectFilter, ScopedInline
from verification.panel.frame.traffic_page import CreatedFilter, NewestFirstAdmin
from verification.services.notices.callbacks import send_again
from verification.whole_numbers import whole_number


class StateFilter(admin.SimpleListFilter):
    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("delivered", _("Delivered")), ("waiting", _("Under way")), ("given_up", _("Given up"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Callback]) -> QuerySet[Callback]:
        states = {
            "delivered": Q(delivered_at__isnull=False),
            "waiting": Q(due_at__isnull=False),
            "given_up": Q(due_at=None, delivered_at=None),
        }
        chosen = states.get(self.value() or "")
        return queryset if chosen is None else queryset.filter(chosen)


class AttemptInline(ScopedInline):
    model = CallbackAttempt
    viewers = Right.SEE_TRAFFIC
    project_path = "callback__project"
    fields = readonly_fields = ("at", "answer", "shown_error", "latency")
    verbose_name_plural: Any = "tries"
    latency = display.latency

    @admin.display(description=gettext_lazy("At"))
    def at(self, attempt: CallbackAttempt) -> str:
        return display.exactly(attempt.created_at)

    @admin.display(description=gettext_lazy("Answer"))
    def answer(self, attempt: CallbackAttempt) -> str:
        if attempt.status is None:
            return display.label(_("None"), "danger")
        return display.label(f"HTTP {attempt.status}", "success" if 200 <= attempt.status < 300 else "danger")

    @admin.display(description=gettext_lazy("Error"))
    def shown_error(self, attempt: CallbackAttempt) -> str:
        """Show the error where it says more than the answer does."""
        return "–" if attempt.error == f"HTTP {attempt.status}" else display.cause(attempt.error)


@admin.register(Callback)
class CallbackAdmin(NewestFirstAdmin):
    viewers = Right.SEE_TRAFFIC
    actors = Right.CHANGE
    empty_text = gettext_lazy("They appear once your server sends a message that names a callback_url.")
    list_display = ("number", "shown_url", "state", "tries", "project", "created")
    list_filter = (ProjectFilter, StateFilter, CreatedFilter)
    list_select_related = ("project",)
    before_template = "admin/verification/callback/intro.html"
    search_fields = ("message",)
    search_help_text = gettext_lazy("Whole message id")
    ordering = ("-created_at",)
    actions: Any = ("send_again_selected",)
    actions_detail = ("send_again",)
    inlines = (AttemptInline,)
    fieldsets = (
        (None, {"fields": ("message_link", "project", "address", "event_id", "state", "tries")}),
        (gettext_lazy("Times"), {"fields": ("created_when", "delivered_when")}),
    )
    readonly_fields = ("message_link", "address", "event_id", "state", "created_when", "delivered_when")
    created_when = time_of("created_at", gettext_lazy("Created"))
    delivered_when = time_of("delivered_at", gettext_lazy("Delivered"))

    def look_up(self, request: HttpRequest, rows: Any, term: str) -> Any:
        message_id = whole_number(term.removeprefix("msg_"))
        return rows.none() if message_id is None else rows.filter(pk=message_id)

    @admin.display(description=gettext_lazy("Message"), ordering="message")
    def number(self, callback: Callback) -> str:
        return display.monospace(callback.pk)

    @admin.display(description=gettext_lazy("Message"))
    def message_link(self, callback: Callback) -> str:
        return display.page_link(display.monospace(callback.pk), callback.message)

    @admin.display(description=gettext_lazy("Address"))
    def shown_url(self, callback: Callback) -> str:
        return display.shortened(callback.url.removeprefix("https://"), 36)

    @admin.display(description=gettext_lazy("Address"))
    def address(self, callback: Callback) -> str:
        return callback.url

    @admin.display(description=gettext_lazy("Its webhook-id"))
    def event_id(self, callback: Callback) -> str:
        return display.monospace(f"msg_{callback.pk}")

    @admin.display(description=gettext_lazy("State"), ordering="due_at")
    def state(self, callback: Callback) -> str:
        if callback.delivered_at:
            return display.label(_("Delivered"), "success")
        if callback.due_at is None:
            return display.label(_("Given up"), "danger")
        if callback.due_at <= timezone.now():
            return display.label(_("Due now"), "info")
        return display.label(_("Next try {time}").format(time=when(callback.due_at)), "warning")

    @without_asking
    @action(description=gettext_lazy("Send again"), icon="replay", permissions=["act"], url_path="send-again")
    def send_again(self, request: HttpRequest, object_id: str) -> HttpResponse:
        callback: Callback = self.find(request, object_id)
        if request.method != "POST":
            return self.ask(
                request,
                _("Send again"),
                row=callback,
                intro=_(
                    "{url} is told once more how the message ended, under the same webhook-id, and the schedule of"
                    " tries starts over."
                ).format(url=callback.url),
                submit=_("Send again"),
            )
        self._send_again(request, callback)
        return HttpResponseRedirect(display.page_address(callback))

    @admin.action(description=gettext_lazy("Send the selected again"), permissions=["act"])
    def send_again_selected(self, request: HttpRequest, queryset: QuerySet[Callback]) -> None:
        for callback in queryset:
            self._send_again(request, callback)

    def _send_again(self, request: HttpRequest, callback: Callback) -> None:
        send_again(callback)
        self.log_change(request, callback, gettext_noop("Sent again"))
        self.message_user(
            request,
            _("The {callback} is due now and goes out within seconds.").format(callback=callback),
            messages.SUCCESS,
        )
