"""Providers: credentials, adapters, those set aside, channels that nobody serves, and webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.core.checks import CheckMessage, Critical, Warning
from django.db.models import Count, Q
from django.utils import timezone

from providers import registry
from verification.checks.registry import Aims, register
from verification.core.crypto import DecryptionFailed
from verification.models import DeliveryAttempt, MessageStatus, Provider
from verification.services.maintenance import degradation
from verification.services.maintenance.visits import Unreachable, is_served_by_us, visit
from verification.services.providers.accounts import check_provider, hook_secret_of, is_known, reports_back

MOST_ASKED = 200  # providers in one run; each may take some seconds to answer
RECEIPTS_SINCE, RECEIPTS_UNTIL = timedelta(days=1), timedelta(hours=1)  # the age of messages whose receipts are due
MOST_LOOKED_AT = 1_000  # messages of one provider, the newest
RECEIPTS_LEAST = 20  # messages without a receipt, which is then no chance
TELLING = (MessageStatus.SUCCESS, MessageStatus.FAILED)


@register("providers")
def settings_work(aims: Aims) -> Iterator[CheckMessage]:
    """Ask each provider that is in use, as ``manage.py checkproviders`` does. Nothing is sent."""
    for row in in_use()[:MOST_ASKED]:
        answer = check_provider(row)
        if not answer.is_ok:
            yield Critical(
                f"{of(row)} does not accept messages: {answer.detail}",
                hint=f"Enter its settings again (manage.py provider set {row.pk}), top up the account, or disable it.",
                id="provider-fails",
            )


@register("providers")
def none_is_set_aside(aims: Aims) -> Iterator[CheckMessage]:
    for breaker in degradation.current().aside:
        yield Critical(
            f"{of(breaker.provider)} is paused after repeated failures: {breaker.reason}",
            hint="Meanwhile the channel's next provider sends, if there is one. Ask the vendor, or disable it.",
            id="provider-aside",
        )


@register("providers")
def channels_are_served(aims: Aims) -> Iterator[CheckMessage]:
    for row in degradation.unserved(Provider.objects.filter(is_enabled=True)):
        yield Critical(
            f"{row.project.name} offers {row.get_type_display()}, but no active provider serves it.",
            hint="Add or enable a provider (manage.py addprovider), or remove the channel.",
            id="channel-unserved",
        )


@register("providers")
def webhooks_are_reached(aims: Aims) -> Iterator[CheckMessage]:
    """Ask the webhook of each provider that reports back, from outside. HEAD has no effect there.

    The path holds a secret. So nothing is asked where another service answers, which the subject "outside" tells.
    """
    rows = [row for row in in_use() if is_known(row.type) and reports_back(registry.adapter_class(row.type))]
    if not rows or not is_served_by_us(aims.url):
        return
    for row in rows[:MOST_ASKED]:
        try:
            answer = visit(f"{aims.url}/hooks/{row.uuid}/{hook_secret_of(row)}", method="HEAD")
        except DecryptionFailed:
            continue  # settings_work says so
        except Unreachable:
            return  # the subject "outside" says why
        if answer.status != 200:
            yield Critical(
                f"The webhook of {of(row)} answers {answer.status} to calls from outside: its reports are lost.",
                hint="Make the proxy pass on everything under /hooks/, without a login, a filter or a changed path.",
                id="webhook-not-reached",
            )


@register("providers")
def receipts_come(aims: Aims) -> Iterator[CheckMessage]:
    """Look for providers that took messages and told the fate of none, though they report."""
    now = timezone.now()
    for row in in_use():
        if not is_known(row.type):
            continue
        adapter = registry.adapter_class(row.type)
        if not (adapter.receipt_window_seconds and reports_back(adapter)):
            continue
        due = DeliveryAttempt.objects.filter(
            provider=row,
            outcome="accepted",
            created_at__gt=now - RECEIPTS_SINCE,
            created_at__lt=now - RECEIPTS_UNTIL,
        )
        counts = due.order_by("-created_at")[:MOST_LOOKED_AT].aggregate(
            all=Count("pk"), told=Count("pk", filter=~Q(provider_status="") | Q(message__status__in=TELLING))
        )
        if counts["all"] >= RECEIPTS_LEAST and not counts["told"]:
            yield Warning(
                f"{of(row)} accepted {counts['all']} messages within a day but sent no delivery report.",
                hint=f"Enter the webhook's address at the vendor; manage.py provider show {row.pk} prints it.",
                id="receipts-missing",
            )


def in_use() -> list[Provider]:
    """Return the providers that may send now."""
    rows = Provider.objects.working().filter(Q(project=None) | Q(project__deleted_at=None))
    return list(rows.select_related("project").order_by("project", "channel", "priority", "id"))


def of(row: Provider) -> str:
    """Name a provider in a sentence."""
    owner = row.project.name if row.project else "the system"
    return f"Provider {row.pk}, {row.name} of {owner} ({row.channel}),"
