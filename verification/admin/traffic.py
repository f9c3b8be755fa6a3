"""What went through: sessions, messages with their attempts, recipients. To be read; nothing here can be changed.

Addresses are masked, and no code, digest or ciphertext is a column.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import F, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from unfold.decorators import action
from unfold.enums import ActionVariant

from verification.addresses import AddressInvalid, mask, parse_test_address
from verification.admin import display
from verification.admin.display import flag_of, text_of, time_of
from verification.admin.inbox import inbox_view
from verification.admin.scoping import ProjectFilter, ScopedAdmin, ScopedInline, own_projects
from verification.codes import is_session_id
from verification.errors import Misuse
from verification.models import DeliveryAttempt, Membership, Message, Recipient, Session, Subscription
from verification.services import forgetting

SPANS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=30)}
OUTCOME_VARIANTS = {
    "accepted": "success",
    "temporary": "warning",
    "rate_limited": "warning",
    "unknown": "warning",
    "not_applicable": "neutral",
}


class CreatedFilter(admin.SimpleListFilter):
    title = "time"
    parameter_name = "since"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("hour", "Last hour"), ("day", "Last 24 hours"), ("week", "Last 7 days"), ("month", "Last 30 days")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        span = SPANS.get(self.value() or "")
        return queryset.filter(created_at__gte=timezone.now() - span) if span else queryset


class TestFilter(admin.SimpleListFilter):
    __test__ = False  # not a test class, whatever its name says
    title = "test logins"
    parameter_name = "test"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("only", "Only test logins"), ("without", "Without test logins")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if self.value() not in ("only", "without"):
            return queryset
        return queryset.filter(is_test=self.value() == "only")


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name.capitalize()) for name in ("open", "verified", "locked", "expired", "replaced")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Session]) -> QuerySet[Session]:
        unlocked, now = Q(attempts__lt=F("attempts_max")), timezone.now()
        states = {
            "verified": Q(verified_at__isnull=False),
            "locked": Q(~unlocked, verified_at=None),
            "expired": Q(unlocked, verified_at=None, expires_at__lte=now),
            "replaced": Q(unlocked, verified_at=None, expires_at__gt=now, is_open=False),
            "open": Q(unlocked, verified_at=None, expires_at__gt=now, is_open=True),
        }
        chosen = states.get(self.value() or "")
        return queryset if chosen is None else queryset.filter(chosen)


class TrafficAdmin(ScopedAdmin):
    """Searched by a whole address or id, each by its index; a part of one finds nothing."""

    actions = None
    show_close_button = True

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> tuple[Any, bool]:
        term = search_term.strip()
        return (self.look_up(request, queryset, term) if term and self.search_fields else queryset), False

    def look_up(self, request: HttpRequest, rows: Any, term: str) -> Any:
        raise NotImplementedError

    def recipients(self, request: HttpRequest, term: str) -> QuerySet[Recipient]:
        try:
            address = parse_test_address(term).text
        except AddressInvalid:
            return Recipient.objects.none()
        return Recipient.objects.filter(project__in=own_projects(request.user), address=address)

    @admin.display(description="Created", ordering="created_at")
    def created(self, row: Any) -> str:
        return display.recent(row.created_at)

    @admin.display(description="Recipient")
    def masked(self, row: Any) -> str:
        return display.code(mask(row.recipient.address))

    @admin.display(description="Recipient")
    def recipient_link(self, row: Any) -> str:
        return display.page_link(display.code(mask(row.recipient.address)), row.recipient)


class SessionMessageInline(ScopedInline):
    model = Message
    fields = readonly_fields = ("link", "shown_channel", "shown_status", "provider_name", "error", "created_when")
    verbose_name_plural = "messages"
    created_when = time_of("created_at", "Created")
    ordering = ("created_at",)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("provider")

    @admin.display(description="Message")
    def link(self, message: Message) -> str:
        return display.page_link(display.code(message.pk), message)

    @admin.display(description="Channel")
    def shown_channel(self, message: Message) -> str:
        return display.channel(message.channel)

    @admin.display(description="Status")
    def shown_status(self, message: Message) -> str:
        return display.status(message.status)

    @admin.display(description="Provider")
    def provider_name(self, message: Message) -> str:
        return message.provider.name if message.provider else "–"


@admin.register(Session)
class SessionAdmin(TrafficAdmin):
    list_display = ("short_id", "masked", "shown_channel", "state", "tries", "project", "created")
    list_filter = (ProjectFilter, StateFilter, "channel", CreatedFilter, TestFilter)
    list_select_related = ("project", "recipient")
    search_fields = ("id",)
    search_help_text = "Whole address or session id"
    ordering = ("-id",)  # ULIDs stand in the order of their time, and the key has the index
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
                    "shown_channel",
                    "awaited",
                    "tries",
                    "language",
                )
            },
        ),
        ("Code", {"fields": ("alphabet", "challenged", "test")}),
        ("Times", {"fields": ("created_when", "expires_when", "verified_when")}),
    )
    number = text_of("pk", "Session")
    challenged = flag_of("is_challenged", "Challenge passed")
    test = flag_of("is_test", "Test login")
    readonly_fields = (
        "number",
        "recipient_link",
        "state",
        "shown_channel",
        "awaited",
        "tries",
        "alphabet",
        "challenged",
        "test",
        "created_when",
        "expires_when",
        "verified_when",
    )
    created_when = time_of("created_at", "Created")
    expires_when = time_of("expires_at", "Expires")
    verified_when = time_of("verified_at", "Verified")

    def look_up(self, request: HttpRequest, rows: Any, term: str) -> Any:
        if is_session_id(term.upper()):
            return rows.filter(pk=term.upper())
        return rows.filter(recipient__in=self.recipients(request, term))

    @admin.display(description="Session", ordering="id")
    def short_id(self, session: Session) -> str:
        return display.code(session.pk)

    @admin.display(description="Last sent over", ordering="channel")
    def shown_channel(self, session: Session) -> str:
        return display.channel(session.channel)

    @admin.display(description="Waits for a start of")
    def awaited(self, session: Session) -> str:
        return display.channel(session.awaited_channel)

    @admin.display(description="State")
    def state(self, session: Session) -> str:
        if session.verified_at:
            return display.label("Verified", "success")
        if session.attempts >= session.attempts_max:
            return display.label("Locked", "danger")
        if session.expires_at <= timezone.now():
            return display.label("Expired", "warning")
        return display.label("Open", "info") if session.is_open else display.label("Replaced")

    @admin.display(description="Wrong codes")
    def tries(self, session: Session) -> str:
        return f"{max(0, session.attempts - bool(session.verified_at))} of {session.attempts_max}"

    @admin.display(description="Kind")
    def alphabet(self, session: Session) -> str:
        kinds = [word for word, is_on in (("digits", session.code_digits), ("letters", session.code_letters)) if is_on]
        return f"{session.code_length} {' and '.join(kinds)}"


class AttemptInline(ScopedInline):
    model = DeliveryAttempt
    project_path = "message__project"
    fields = readonly_fields = (
        "name",
        "shown_outcome",
        "answer",
        "reference",
        "error",
        "latency",
        "created_when",
    )
    verbose_name_plural = "delivery attempts"
    name = text_of("provider_name", "Provider")
    answer = text_of("provider_status", "Answer")
    reference = text_of("provider_message_id", "The provider's id")
    created_when = time_of("created_at", "At")

    @admin.display(description="Outcome")
    def shown_outcome(self, attempt: DeliveryAttempt) -> str:
        words = attempt.outcome.replace("_", " ").capitalize()
        return display.label(words, OUTCOME_VARIANTS.get(attempt.outcome, "danger"))

    @admin.display(description="Took")
    def latency(self, attempt: DeliveryAttempt) -> str:
        return f"{attempt.latency_ms:,} ms"


@admin.register(Message)
class MessageAdmin(TrafficAdmin):
    list_display = (
        "short_id",
        "masked",
        "shown_channel",
        "shown_status",
        "kind",
        "shown_provider",
        "shown_error",
        "project",
        "created",
    )
    list_filter = (ProjectFilter, "status", "channel", CreatedFilter, TestFilter)
    list_select_related = ("project", "recipient", "provider")
    search_fields = ("id",)
    search_help_text = "Whole address, message or session id"
    ordering = ("-created_at",)
    inlines = (AttemptInline,)
    fieldsets = (
        (
            None,
            {"fields": ("number", "project", "recipient_link", "shown_channel", "language", "kind", "session_link")},
        ),
        (
            "Delivery",
            {"fields": ("shown_status", "error", "shown_provider", "reference", "pinned", "callback_to")},
        ),
        ("Times", {"fields": ("created_when", "sent_when", "finished_when", "expires_when", "took")}),
    )
    readonly_fields = (
        "recipient_link",
        "shown_channel",
        "kind",
        "session_link",
        "shown_status",
        "shown_provider",
        "number",
        "reference",
        "pinned",
        "callback_to",
        "created_when",
        "sent_when",
        "finished_when",
        "expires_when",
        "took",
    )
    number = text_of("pk", "Message")
    reference = text_of("provider_message_id", "The provider's id for it")
    callback_to = text_of("callback_url", "Callback address")
    created_when = time_of("created_at", "Created")
    sent_when = time_of("sent_at", "Sent")
    finished_when = time_of("finished_at", "Final")
    expires_when = time_of("expires_at", "Expires")

    def get_custom_urls(self) -> tuple[tuple[str, str, Callable[..., HttpResponse]], ...]:
        return (("inbox/", "verification_inbox", inbox_view),)

    def look_up(self, request: HttpRequest, rows: Any, term: str) -> Any:
        if term.isascii() and term.isdigit() and len(term) <= 16:
            return rows.filter(pk=int(term))
        if is_session_id(term.upper()):
            return rows.filter(session_id=term.upper())
        return rows.filter(recipient__in=self.recipients(request, term))

    @admin.display(description="Message", ordering="id")
    def short_id(self, message: Message) -> str:
        return display.code(message.pk)

    @admin.display(description="Channel", ordering="channel")
    def shown_channel(self, message: Message) -> str:
        return display.channel(message.channel)

    @admin.display(description="Status", ordering="status")
    def shown_status(self, message: Message) -> str:
        return display.status(message.status)

    @admin.display(description="Kind")
    def kind(self, message: Message) -> str:
        return f"{'Session' if message.session_id else 'Manual send'}{', test login' if message.is_test else ''}"

    @admin.display(description="Provider", ordering="provider__name")
    def shown_provider(self, message: Message) -> str:
        """By name only: a system provider's page is not the member's."""
        return message.provider.name if message.provider else "–"

    @admin.display(description="Pinned provider")
    def pinned(self, message: Message) -> str:
        return message.pinned_provider.name if message.pinned_provider else "–"

    @admin.display(description="Error")
    def shown_error(self, message: Message) -> str:
        return display.short(message.error, 40)

    @admin.display(description="Session")
    def session_link(self, message: Message) -> str:
        return display.page_link(display.code(message.session_id), message.session) if message.session else "–"

    @admin.display(description="Accepted by a provider after")
    def took(self, message: Message) -> str:
        return display.lasted(message.created_at, message.sent_at)


class SubscriptionInline(ScopedInline):
    model = Subscription
    project_path = "recipient__project"
    fields = readonly_fields = ("provider_name", "active", "bound_when")
    verbose_name_plural = "started bots"
    active = flag_of("is_active", "Reachable")
    bound_when = time_of("bound_at", "Started")

    @admin.display(description="Provider")
    def provider_name(self, subscription: Subscription) -> str:
        return subscription.provider.name


@admin.register(Recipient)
class RecipientAdmin(TrafficAdmin):
    list_display = ("masked", "project", "language", "shown_verified", "verified", "created")
    list_filter = (ProjectFilter, "verified_channel", CreatedFilter)
    list_select_related = ("project",)
    search_fields = ("address",)
    search_help_text = "Whole phone number or e-mail address"
    actions_detail = ("show_address", "export", "forget")
    ordering = ("-id",)
    inlines = (SubscriptionInline,)
    fieldsets = (
        (None, {"fields": ("masked", "project", "language")}),
        ("Reached", {"fields": ("shown_verified", "verified_when", "shown_reached", "created_when", "traffic")}),
    )
    readonly_fields = ("masked", "shown_verified", "verified_when", "shown_reached", "created_when", "traffic")
    created_when = time_of("created_at", "First seen")
    verified_when = time_of("verified_at", "Last verified")

    @action(description="Export", icon="download", permissions=["address"])
    def export(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """All that is known of them, as a file. It holds the whole address, so taking it is on record."""
        recipient: Recipient = self.find(request, object_id)
        if not may_see_addresses(request.user, recipient):
            raise PermissionDenied
        if request.method != "POST":
            return self._ask(
                request,
                recipient,
                title="Export",
                intro=f"You get a JSON file with everything stored about {mask(recipient.address)}: the whole address,"
                " sessions, messages with their attempts, started bots. No codes.",
                submit_text="Export",
            )
        try:
            data = forgetting.export(project=recipient.project, to=recipient.address)
        except Misuse as error:
            return self._refuse(request, recipient, error)
        self.log_change(request, recipient, "Exported")
        response = JsonResponse(data, json_dumps_params={"indent": 2})
        response["Content-Disposition"] = f'attachment; filename="recipient-{recipient.pk}.json"'
        response["Cache-Control"] = "no-store"
        return response

    @action(description="Forget", icon="person_off", permissions=["view"], variant=ActionVariant.DANGER)
    def forget(self, request: HttpRequest, object_id: str) -> HttpResponse:
        recipient: Recipient = self.find(request, object_id)
        if request.method != "POST":
            return self._ask(
                request,
                recipient,
                title="Forget",
                intro=f"Everything stored about {mask(recipient.address)} goes: sessions, messages, started bots. What"
                " counts in today's limits stays for a day under a hash, an opt-out until it is lifted. This cannot be"
                " undone.",
                submit_text="Forget",
                variant="danger",
            )
        try:
            forgetting.forget(project=recipient.project, to=recipient.address)
        except Misuse as error:
            return self._refuse(request, recipient, error)
        self.message_user(request, f"The recipient {mask(recipient.address)} is forgotten.", messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:verification_recipient_changelist"))

    def _ask(self, request: HttpRequest, recipient: Recipient, *, title: str, **more: Any) -> HttpResponse:
        back = reverse("admin:verification_recipient_change", args=(recipient.pk,))
        context = self.page_context(request, title, object=recipient, back=back, **more)
        return TemplateResponse(request, "admin/verification/form_page.html", context)

    def _refuse(self, request: HttpRequest, recipient: Recipient, error: Misuse) -> HttpResponse:
        self.message_user(request, str(error), messages.WARNING)
        return HttpResponseRedirect(reverse("admin:verification_recipient_change", args=(recipient.pk,)))

    def get_inlines(self, request: HttpRequest, obj: Recipient | None) -> Any:
        return self.inlines if obj and obj.subscriptions.exists() else ()

    def look_up(self, request: HttpRequest, rows: Any, term: str) -> Any:
        return rows.filter(pk__in=self.recipients(request, term))

    def has_address_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """Whether the user may see whole addresses: a superuser, or a member whose membership says so."""
        return may_see_addresses(request.user, self.get_object(request, str(object_id)) if object_id else None)

    @action(description="Show the address", icon="visibility", permissions=["address"], url_path="address")
    def show_address(self, request: HttpRequest, object_id: str) -> HttpResponse:
        recipient: Recipient = self.find(request, object_id)
        if not may_see_addresses(request.user, recipient):
            raise PermissionDenied
        back = reverse("admin:verification_recipient_change", args=(recipient.pk,))
        if request.method == "POST":
            self.log_change(request, recipient, "Looked at the address")
            return self.show_secrets(
                request,
                recipient,
                title="Address",
                warning="It is on record that you looked. Use it for what you looked it up for.",
                secrets=[(f"Recipient of {recipient.project}", recipient.address, "")],
                back=back,
            )
        context = self.page_context(
            request,
            "Show the address",
            object=recipient,
            intro=f"{mask(recipient.address)}: the whole address is shown once. The audit log notes that you looked.",
            submit_text="Show it",
            back=back,
        )
        return TemplateResponse(request, "admin/verification/form_page.html", context)

    @admin.display(description="Recipient")
    def masked(self, row: Recipient) -> str:
        return display.code(mask(row.address))

    @admin.display(description="Last verified over", ordering="verified_channel")
    def shown_verified(self, recipient: Recipient) -> str:
        return display.channel(recipient.verified_channel)

    @admin.display(description="Last reached over")
    def shown_reached(self, recipient: Recipient) -> str:
        return display.channel(recipient.reached_channel)

    @admin.display(description="Verified", ordering="verified_at")
    def verified(self, recipient: Recipient) -> str:
        return display.recent(recipient.verified_at)

    @admin.display(description="Messages, last 24 hours")
    def traffic(self, recipient: Recipient) -> int:
        return recipient.messages.filter(created_at__gte=timezone.now() - timedelta(days=1)).count()


def may_see_addresses(user: Any, recipient: Recipient | None) -> bool:
    memberships = Membership.objects.filter(user=user, sees_addresses=True)
    if recipient is not None:
        memberships = memberships.filter(project=recipient.project_id)
    return bool(user.is_superuser or memberships.exists())
