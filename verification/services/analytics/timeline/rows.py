"""The rows that a story is told from: read for one story, or for a page of them in as many statements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.db.models import prefetch_related_objects
from django.utils.translation import gettext as _

from verification.core.addresses import country_of, mask
from verification.models import (
    Decision,
    DeliveryAttempt,
    FallbackStep,
    Message,
    Project,
    Provider,
    Recipient,
    RoutingRule,
    Session,
    Subscription,
    VerifyToken,
    WebhookEvent,
    WrongCode,
)
from verification.services.records.decisions import RULES

OF_MESSAGE = (
    "recipient",
    "project",
    "provider",
    "pinned_provider",
    "connection",
    "attempts",
    "risk_verdicts",
    "event__attempts",
)
OF_SESSION = (
    "recipient",
    "project",
    "wrong_codes",
    "verify_token",
    "events__attempts",
    *(f"messages__{name}" for name in OF_MESSAGE if name not in ("recipient", "project")),
)
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Rows:
    """All that is known of one session, or of one message without a session.

    ``decisions`` are the refusals of the same hours about a recipient with the same mask; ``providers`` are those that
    serve the project now. Both are empty in a list of stories, which tells none of them in full.
    """

    project: Project
    recipient: Recipient
    session: Session | None
    messages: list[Message]
    wrong_codes: list[WrongCode] = field(default_factory=list)
    token: VerifyToken | None = None
    decisions: list[Decision] = field(default_factory=list)
    providers: list[Provider] = field(default_factory=list)
    started_bots: frozenset[int] = frozenset()  # ids of the providers whose bot the recipient has started
    falls_back: bool = False  # whether the project has an order of fall-back now
    paused: frozenset[int] = frozenset()  # ids of the providers that a routing rule pauses for this recipient

    @property
    def began_at(self) -> datetime:
        return self.session.created_at if self.session else self.messages[0].created_at

    @property
    def is_test(self) -> bool:
        return self.session.is_test if self.session else self.messages[0].is_test

    @property
    def customer_events(self) -> list[WebhookEvent]:
        """The events that the customer's server was to be told, the earliest first."""
        events = [*self.session.events.all()] if self.session else []
        events += [message.event for message in self.messages if hasattr(message, "event")]
        return sorted(events, key=lambda event: event.created_at)

    @property
    def attempts(self) -> list[DeliveryAttempt]:
        return [attempt for message in self.messages for attempt in attempts_of(message)]


def host_of(event: WebhookEvent, project: Project) -> str:
    """Return the host that is told of the event: a callback's own, or that of the project's events."""
    return urlsplit(event.url or project.event_url).hostname or _("your server")


def attempts_of(message: Message) -> list[DeliveryAttempt]:
    return sorted(message.attempts.all(), key=lambda attempt: attempt.pk)


def rows_of_sessions(sessions: Iterable[Session]) -> list[Rows]:
    """Return the rows of each session, read together."""
    found = list(sessions)
    prefetch_related_objects(found, *OF_SESSION)
    return [
        Rows(
            project=session.project,
            recipient=session.recipient,
            session=session,
            messages=sorted(session.messages.all(), key=lambda message: message.created_at),
            wrong_codes=sorted(session.wrong_codes.all(), key=lambda wrong: wrong.pk),
            token=getattr(session, "verify_token", None),
        )
        for session in found
    ]


def rows_of_messages(messages: Iterable[Message]) -> list[Rows]:
    """Return the rows of each message that has no session, read together."""
    found = list(messages)
    prefetch_related_objects(found, *OF_MESSAGE)
    return [Rows(message.project, message.recipient, None, [message]) for message in found]


def with_details(rows: Rows) -> Rows:
    """Add what only a whole story tells: refusals of the same time, and the providers that were not asked."""
    channels = {message.channel for message in rows.messages}
    providers = Provider.objects.of(rows.project.pk).filter(channel__in=channels).select_related("breaker").in_order()
    started = Subscription.objects.filter(recipient=rows.recipient, is_active=True).values_list("provider", flat=True)
    return Rows(
        rows.project,
        rows.recipient,
        rows.session,
        rows.messages,
        rows.wrong_codes,
        rows.token,
        _decisions(rows),
        list(providers),
        frozenset(started),
        FallbackStep.objects.filter(project=rows.project).exists(),
        _paused(rows),
    )


def _paused(rows: Rows) -> frozenset[int]:
    """Return the providers that a routing rule pauses for the recipient's country."""
    place = country_of(rows.recipient.address) if "@" not in rows.recipient.address else ""
    found = RoutingRule.objects.filter(project=rows.project, country__in={place, ""})
    percent_by_rule = {(rule.provider_id, rule.country): rule.percent for rule in found}
    return frozenset(
        each for each, _ in percent_by_rule if percent_by_rule.get((each, place), percent_by_rule.get((each, ""))) == 0
    )


def _decisions(rows: Rows) -> list[Decision]:
    """Return the refusals about recipients with this mask while the story lasted.

    All rules and hours are named, so that the unique index (project, rule, hour, subject) finds each row.
    """
    until = rows.session.expires_at if rows.session else rows.messages[0].expires_at
    first = rows.began_at.replace(minute=0, second=0, microsecond=0)
    hours = [first + HOUR * number for number in range(int((until - first) / HOUR) + 1)]
    return list(
        Decision.objects.filter(
            project=rows.project,
            rule__in=list(RULES),
            hour__in=hours,
            subject=mask(rows.recipient.address),
            last_at__gte=rows.began_at,
            first_at__lte=until,
        ).order_by("first_at")
    )
