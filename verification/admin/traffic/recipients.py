"""Recipients: masked, with buttons to show the address, export or forget one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from unfold.decorators import action
from unfold.enums import ActionVariant

from verification.admin.audit import LOOKS
from verification.admin.base import display
from verification.admin.base.permissions import ScopedInline
from verification.admin.base.traffic_admin import CreatedFilter, NewestFirstAdmin
from verification.admin.traffic.search import hits_of
from verification.core.addresses import mask
from verification.core.errors import UserError
from verification.core.formats import CLOCK, DAY_OF_YEAR, EXACT, grouped, written_moment
from verification.models import AuditEntry, MessageStatus, Recipient, Right, Subscription, sees_addresses
from verification.services.analytics import search
from verification.services.maintenance import forgetting
from verification.services.protection import limits_used

STORIES_SHOWN = 10  # on a recipient's page
LOOKS_SHOWN = 5  # the latest looks at an address that its recipient's page names


class SubscriptionInline(ScopedInline):
    model = Subscription
    viewers = Right.SEE_TRAFFIC
    project_path = "recipient__project"
    fields = readonly_fields = ("provider_name", "active", "bound_time")
    verbose_name_plural = gettext_lazy("started bots")

    active = display.column("is_active", gettext_lazy("Reachable"), display.yes_or_no)
    bound_time = display.column("bound_at", gettext_lazy("Started"))

    @admin.display(description=gettext_lazy("Provider"))
    def provider_name(self, subscription: Subscription) -> str:
        return subscription.provider.name


@admin.register(Recipient)
class RecipientAdmin(NewestFirstAdmin):
    viewers = Right.SEE_TRAFFIC
    actors = Right.HELP_USERS
    empty_text = gettext_lazy("Recipients appear once someone requests a code.")
    list_display = ("masked", "project", "language_label", "verified_over", "verified", "created")
    list_filter = ("verified_channel", CreatedFilter)
    list_select_related = ("project",)
    intro = gettext_lazy(
        "Everyone who was sent a code, or tried to get one, with masked addresses. Search by the full address. On a"
        " recipient's page you can view the address, export the stored data and erase it. Viewing and"
        " exporting require permission to see full addresses."
    )
    search_fields = ("address",)
    search_help_text = gettext_lazy("Full phone number or e-mail address")
    actions_detail = ("show_address", "export", "forget")
    ordering = ("-id",)
    inlines = (SubscriptionInline,)
    change_form_outer_before_template = "admin/verification/recipient/stories.html"
    fieldsets = (
        (None, {"fields": ("masked", "project", "language_label")}),
        (
            gettext_lazy("Activity"),
            {"fields": ("verified_over", "verified_time", "reached_over", "created_time", "traffic")},
        ),
        (gettext_lazy("Current limits"), {"fields": ("sends", "wrong_codes", "resend_cooldown")}),
        (gettext_lazy("Full address"), {"fields": ("seen_by",)}),
    )
    readonly_fields = (
        "language_label",
        "masked",
        "verified_over",
        "verified_time",
        "reached_over",
        "created_time",
        "traffic",
        "sends",
        "wrong_codes",
        "resend_cooldown",
        "seen_by",
    )

    created_time = display.column("created_at", gettext_lazy("First seen"))
    verified_time = display.column("verified_at", gettext_lazy("Last verified"))
    verified_over = display.column("verified_channel", gettext_lazy("Last verified by"), display.format_channel)

    @admin.display(description=gettext_lazy("Last reached by"))
    def reached_over(self, recipient: Recipient) -> str:
        reached = recipient.messages.filter(sent_at__isnull=False).exclude(status=MessageStatus.FAILED)
        return display.format_channel(reached.order_by("-created_at").values_list("channel", flat=True).first() or "")

    @action(description=gettext_lazy("Export"), icon="download", permissions=["address"])
    def export(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Send all that is stored about the recipient, as a file.

        It holds the whole address, so the audit log notes who took it.
        """
        recipient = self.find_shown(request, object_id)
        if request.method != "POST":
            return self.ask(
                request,
                _("Export"),
                row=recipient,
                intro=_(
                    "Downloads a JSON file with everything stored about {recipient}: the full address,"
                    " sessions, messages with their attempts, and started bots. No codes."
                ).format(recipient=mask(recipient.address)),
                submit=_("Export"),
            )
        try:
            data = forgetting.export(project=recipient.project, to=recipient.address)
        except UserError as error:
            return self.refuse(request, recipient, error)
        self.log_change(request, recipient, gettext_noop("Exported"))
        response = JsonResponse(data, json_dumps_params={"indent": 2})
        response["Content-Disposition"] = f'attachment; filename="recipient-{recipient.pk}.json"'
        response["Cache-Control"] = "no-store"
        return response

    @action(description=gettext_lazy("Erase"), icon="person_off", permissions=["act"], variant=ActionVariant.DANGER)
    def forget(self, request: HttpRequest, object_id: str) -> HttpResponse:
        recipient: Recipient = self.find(request, object_id)
        if request.method != "POST":
            return self.ask(
                request,
                _("Erase"),
                row=recipient,
                intro=_(
                    "Erases everything stored about {recipient}: sessions, messages, started bots. Counts "
                    "for today's limits are kept for a day under a hash; an opt-out is kept until it is "
                    "lifted. This cannot be undone."
                ).format(recipient=mask(recipient.address)),
                submit=_("Erase"),
                is_dangerous=True,
            )
        try:
            forgetting.forget(project=recipient.project, to=recipient.address)
        except UserError as error:
            return self.refuse(request, recipient, error)
        self.message_user(
            request,
            _("The data of {recipient} was erased.").format(recipient=mask(recipient.address)),
            messages.SUCCESS,
        )
        return HttpResponseRedirect(reverse("admin:verification_recipient_changelist"))

    def find_shown(self, request: HttpRequest, object_id: str) -> Recipient:
        """Return a recipient whose address the user may see. Raises ``PermissionDenied`` for any other."""
        recipient: Recipient = self.find(request, object_id)
        if not sees_addresses(request.user, recipient.project_id):
            raise PermissionDenied
        return recipient

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the recipient's last stories above the form."""
        recipient = self.get_object(request, unquote(object_id)) if request.method == "GET" else None
        context = {"hits": hits_of(search.traffic_of(recipient), STORIES_SHOWN)} if recipient else {}
        response: HttpResponse = super().change_view(request, object_id, form_url, {**context, **(extra_context or {})})
        return response

    def get_inlines(self, request: HttpRequest, obj: Recipient | None) -> Any:
        return self.inlines if obj and obj.subscriptions.exists() else ()

    def look_up(self, request: HttpRequest, rows: Any, term: str) -> Any:
        return rows.filter(pk__in=self.recipients(request, term))

    def has_address_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """Return whether the user may see whole addresses: a superuser, or a member whose membership says so."""
        recipient = self.get_object(request, str(object_id)) if object_id else None
        return sees_addresses(request.user, recipient.project_id if recipient else None)

    @action(
        description=gettext_lazy("Show the address"), icon="visibility", permissions=["address"], url_path="address"
    )
    def show_address(self, request: HttpRequest, object_id: str) -> HttpResponse:
        recipient = self.find_shown(request, object_id)
        if request.method != "POST":
            return self.ask(
                request,
                _("Show the address"),
                row=recipient,
                intro=_(
                    "{recipient}: the full address is shown once. The audit log records that you viewed it."
                ).format(recipient=mask(recipient.address)),
                submit=_("Show secret"),
            )
        self.log_change(request, recipient, gettext_noop("Viewed the address"))
        return self.show_secrets(
            request,
            recipient,
            title=_("Address"),
            warning=_("The audit log recorded that you viewed this address. Only use it for your current purpose."),
            secrets=[(_("Recipient of {project}").format(project=recipient.project), recipient.address, "")],
        )

    @admin.display(description=gettext_lazy("Recipient"))
    def masked(self, row: Recipient) -> str:
        return display.monospace(mask(row.address))

    @admin.display(description=gettext_lazy("Verified"))
    def verified(self, recipient: Recipient) -> str:
        return display.time_ago_label(recipient.verified_at)

    @admin.display(description=gettext_lazy("Codes sent"))
    def sends(self, recipient: Recipient) -> str:
        return _limits_on(recipient, "codes sent")

    @admin.display(description=gettext_lazy("Wrong codes"))
    def wrong_codes(self, recipient: Recipient) -> str:
        return _limits_on(recipient, "wrong codes")

    @admin.display(description=gettext_lazy("Resend cooldown"))
    def resend_cooldown(self, recipient: Recipient) -> str:
        blocked = limits_used.blocked_channels(recipient)
        ends = [_("{channel}: next at {time}").format(channel=channel, time=_clock(end)) for channel, end in blocked]
        return ", ".join(ends) or "–"  # the theme writes a hyphen for the word None

    @admin.display(description=gettext_lazy("Viewed by"))
    def seen_by(self, recipient: Recipient) -> str:
        """Name the last who saw the address, in the panel or in a file. The audit log has all of them."""
        about = {"object_type": recipient._meta.label_lower, "object_id": str(recipient.pk), "action__in": LOOKS}
        lines = AuditEntry.objects.filter(**about).order_by("-id")[:LOOKS_SHOWN]
        rows = ((line.who, display.time_label(line.at, EXACT), _(line.action).lower()) for line in lines)
        return format_html_join(SafeString("<br>"), "{}, {}: {}", rows) or _("nobody")

    @admin.display(description=gettext_lazy("Messages, last 24 hours"))
    def traffic(self, recipient: Recipient) -> int:
        return recipient.messages.filter(created_at__gte=timezone.now() - timedelta(days=1)).count()


def _limits_on(recipient: Recipient, what: str) -> str:
    """Return a line for each limit; one that is used up says when the next is allowed."""
    lines = []
    for each in limits_used.limits_used(recipient):
        if each.what == what:
            used = _("{used} of {limit} in {window}").format(
                used=grouped(each.used), limit=grouped(each.limit), window=each.window
            )
            text = (
                display.label(_("{used}, resets at {time}").format(used=used, time=_clock(each.free_at)), "danger")
                if each.free_at
                else used
            )
            lines.append((text,))
    return format_html_join(SafeString("<br>"), "{}", lines) or _("No limit")


def _clock(moment: datetime) -> str:
    """Return the time of day, with the date where it is not today."""
    local = timezone.localtime(moment)
    return written_moment(moment, CLOCK if local.date() == timezone.localdate() else f"{DAY_OF_YEAR}, {CLOCK}")
