"""The steps of a project from its creation to its first verified user, each told by the rows that it leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from verification.models import ApiKey, DailyUsers, KeyKind, Message, Project, Provider, Session

# Newest rows among which a fact is looked for. A project without a verified user has few, unless bots found it first.
LOOKED_THROUGH = 1_000


@dataclass(frozen=True, slots=True)
class FirstUse:
    """The facts of one project before its first verified user, in the order in which an owner brings them about."""

    has_key: bool
    has_provider: bool
    unchecked: Provider | None  # the first provider of whom nothing has shown yet that its credentials work
    has_sent_test: bool
    has_session: bool
    has_alerts: bool

    @property
    def is_checked(self) -> bool:
        return self.has_provider and self.unchecked is None


def is_over(project: Project) -> bool:
    """Return whether a real user of the project was ever verified. Test logins do not count."""
    if DailyUsers.objects.filter(project=project, verified__gt=0).exists():
        return True
    return _among_newest(Session.objects.filter(project=project), verified_at__isnull=False, is_test=False)


def facts_of(project: Project) -> FirstUse:
    providers = Provider.objects.serving(project)
    return FirstUse(
        has_key=ApiKey.objects.live().filter(project=project, kind=KeyKind.API).exists(),
        has_provider=providers.exists(),
        unchecked=None if project.is_sandbox else _unchecked(project),
        has_sent_test=_among_newest(Message.objects.filter(project=project), session_id=None, sent_at__isnull=False),
        has_session=_among_newest(Session.objects.filter(project=project), is_test=False),
        has_alerts=bool(project.alert_emails or project.alert_url) or project.alert_services.exists(),
    )


def _unchecked(project: Project) -> Provider | None:
    """Return the first provider whose vendor neither confirmed the credentials nor accepted a message.

    The system's are looked at where the project has none of its own.
    """
    serving = Provider.objects.serving(project).in_order()
    own = list(serving.filter(project=project)) or list(serving)
    sent = _newest(Message.objects.filter(project=project)).filter(sent_at__isnull=False)
    accepting = set(sent.values_list("provider_id", flat=True))
    return next((each for each in own if each.checked_at is None and each.pk not in accepting), None)


def _newest(rows: QuerySet[Any]) -> QuerySet[Any]:
    return rows.filter(pk__in=list(rows.order_by("-created_at").values_list("pk", flat=True)[:LOOKED_THROUGH]))


def _among_newest(rows: QuerySet[Any], **wanted: Any) -> bool:
    return _newest(rows).filter(**wanted).exists()
