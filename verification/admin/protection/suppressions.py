"""Suppressions: recipients to whom nothing more goes over a channel, until the owner lifts it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from unfold.decorators import action

from verification.admin.base import display
from verification.admin.base.columns import ChannelColumn
from verification.admin.base.traffic_admin import CreatedFilter, TrafficAdmin
from verification.core.addresses import mask
from verification.models import ChannelType, Right, Suppression
from verification.services.protection.suppressions import lift


class SuppressionStateFilter(admin.SimpleListFilter):
    title = gettext_lazy("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("live", _("Active")), ("lifted", _("Lifted"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Suppression]) -> QuerySet[Suppression]:
        if self.value() not in ("live", "lifted"):
            return queryset
        return queryset.filter(lifted_at__isnull=self.value() == "live")


@admin.register(Suppression)
class SuppressionAdmin(ChannelColumn, TrafficAdmin):
    viewers = Right.SEE_TRAFFIC
    actors = Right.HELP_USERS
    empty_text = gettext_lazy("No bounces, complaints or STOP texts.")
    list_display = ("masked", "channel_label", "reason_excerpt", "state", "project", "created")
    list_filter = (SuppressionStateFilter, "channel", CreatedFilter)
    list_select_related = ("project", "recipient")
    intro = gettext_lazy(
        "Recipients with a hard bounce or complaint reported by a provider, or who wrote STOP. They get no more"
        " messages on that channel until you lift the suppression."
    )
    search_fields = ("recipient",)
    search_help_text = gettext_lazy("Full phone number or e-mail address")
    ordering = ("-created_at", "-id")
    actions: Any = ("lift_selected",)
    actions_detail = ("lift",)
    fieldsets = (
        (None, {"fields": ("recipient_link", "channel_label", "project", "reason", "state")}),
        (gettext_lazy("Times"), {"fields": ("created_time", "lifted_time")}),
    )
    readonly_fields = ("recipient_link", "channel_label", "state", "created_time", "lifted_time")

    created_time = display.column("created_at", gettext_lazy("Since"))
    lifted_time = display.column("lifted_at", gettext_lazy("Lifted"))

    def look_up(self, request: HttpRequest, rows: Any, term: str) -> Any:
        return rows.filter(recipient_id__in=self.recipients(request, term))

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        row = self.get_object(request, str(object_id))
        return super().get_actions_detail(request, object_id) if row and row.lifted_at is None else []

    @admin.display(description=gettext_lazy("Reason"))
    def reason_excerpt(self, row: Suppression) -> str:
        return display.excerpt(row.reason)

    @admin.display(description=gettext_lazy("State"), ordering="lifted_at")
    def state(self, row: Suppression) -> str:
        return display.label(_("Lifted")) if row.lifted_at else display.label(_("Active"), "danger")

    @action(description=gettext_lazy("Lift"), icon="undo", permissions=["act"])
    def lift(self, request: HttpRequest, object_id: str) -> HttpResponse:
        row: Suppression = self.find(request, object_id)
        if row.lifted_at is None and request.method != "POST":
            return self.ask(request, row=row, **_lifting([row]))
        if request.method == "POST":
            self._lift(request, [row])
        return HttpResponseRedirect(display.page_address(row))

    @admin.action(description=gettext_lazy("Lift selected blocks"), permissions=["act"])
    def lift_selected(self, request: HttpRequest, queryset: QuerySet[Suppression]) -> HttpResponse | None:
        rows = list(queryset.filter(lifted_at=None))
        if not rows:
            self.message_user(request, _("None of these is active."), messages.WARNING)
            return None
        if not request.POST.get("confirmed"):
            return self.ask_about_selected(request, rows, action="lift_selected", **_lifting(rows))
        self._lift(request, rows)
        return None

    def _lift(self, request: HttpRequest, rows: list[Suppression]) -> None:
        for row in rows:
            if lift(row):
                self.log_change(request, row, gettext_noop("Lifted"))
                self.message_user(
                    request,
                    _("{recipient} can receive messages again.").format(recipient=_recipient_and_channel(row)),
                    messages.SUCCESS,
                )


def _lifting(rows: list[Suppression]) -> dict[str, Any]:
    """Return the words of the question before suppressions are lifted."""
    return {
        "title": _("Lift the suppression") if len(rows) == 1 else _("Lift the suppressions"),
        "intro": _(
            "{names} will receive messages again. Only do this if the recipient wants them or the mailbox"
            " works again: providers count bounces and complaints against the sender."
        ).format(names=", ".join(map(_recipient_and_channel, rows))),
        "submit": _("Lift"),
    }


def _recipient_and_channel(row: Suppression) -> str:
    return _("{recipient} ({channel})").format(
        recipient=mask(row.recipient.address), channel=ChannelType(row.channel).label
    )
