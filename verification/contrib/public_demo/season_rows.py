"""The rows around the traffic of a season: colleagues with other roles, keys, list entries, refusals, a finding."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

PEOPLE = {"dev": "developer", "ana": "analyst", "sol": "support"}  # beside the owner, each with the owner's password
OPERATOR = "operator"
REVIEWER = "+447700900123"  # of the range that Ofcom keeps for fiction; the shop sends SMS alone
PREFIX_FIGURES = {"numbers": 11, "limit": 10, "minutes": 10}
REFUSALS: tuple[
    tuple[str, str, str, dict[str, Any], int], ...
] = (  # rule, subject, country, its figures, and about how many a day
    ("prefix", "+62812345", "ID", PREFIX_FIGURES, 4),
    ("country", "KP", "", {"channel": "sms"}, 1),
    ("too_many_sends", "+91***5210", "", {"channel": "sms"}, 6),
    ("channel_timeout", "+55***8714", "", {"channel": "sms"}, 3),
    ("client_address", "203.0.113.0/24", "", {}, 2),
)
DAYS_OF_REFUSALS = 30


def add_people(project: Any, owner: str, password: str) -> None:
    from django.contrib.auth.models import User

    from verification.models import Membership

    user = User.objects.create_user(owner, email=f"{owner}@shop.example", password=password, is_staff=True)
    Membership.objects.create(project=project, user=user, role="owner", sees_addresses=True)
    for name, role in PEOPLE.items():
        user = User.objects.create_user(name, email=f"{name}@shop.example", password=password, is_staff=True)
        Membership.objects.create(project=project, user=user, role=role)
    User.objects.create_superuser(OPERATOR, email="operator@host.example", password=password)


def add_callers(project: Any, *, since: datetime, now: datetime) -> None:
    """Add the keys that sent the traffic ``since``, the webhook secret and a test login."""
    from verification.models import KeyKind
    from verification.services.projects import test_logins
    from verification.services.projects.keys import issue_key
    from verification.services.projects.webhook_secrets import issue_webhook_secret

    for kind in (KeyKind.API, KeyKind.SECRET):
        issue_key(project=project, kind=kind)
    project.keys.update(created_at=since, last_used_at=now)
    issue_webhook_secret(project=project)
    test_logins.add_test_login(project=project, to=REVIEWER, code="123456")


def add_rows(project: Any, recipients: dict[str, int], now: datetime, chance: random.Random) -> None:
    from verification.models import GuardBlock, ListEntry, Suppression

    for kind, subject, value in (
        ("block", "prefix", "+882"),
        ("block", "domain", "mailinator.com"),
        ("safe", "prefix", "+447400123"),
    ):
        ListEntry.objects.create(project=project, kind=kind, subject=subject, value=value)
    for number in list(recipients.values())[::4_000]:
        Suppression.objects.create(
            project=project, recipient_id=number, channel="sms", reason="The recipient answered STOP."
        )
    GuardBlock.objects.create(
        project=project,
        rule="prefix",
        subject="+62812345",
        level=1,
        since=now - timedelta(minutes=20),
        until=now + timedelta(days=2),
        figures=PREFIX_FIGURES,
        refused=3,
        is_announced=True,
    )
    add_refusals(project, now, chance)
    mark_recipients(project)
    add_guarded_sends(project, now)


def add_refusals(project: Any, now: datetime, chance: random.Random) -> None:
    from verification.models import Decision

    hour = now.replace(minute=0, second=0, microsecond=0)
    for ago in range(DAYS_OF_REFUSALS):
        for rule, subject, country, figures, a_day in REFUSALS:
            at = hour - timedelta(days=ago, hours=chance.randrange(24))
            times = chance.randint(1, 2 * a_day)
            Decision.objects.get_or_create(
                project=project,
                rule=rule,
                subject=subject,
                hour=at,
                defaults={
                    "country": country,
                    "count": times,
                    "refused": times,
                    "figures": figures,
                    "first_at": at + timedelta(minutes=3),
                    "last_at": at + timedelta(minutes=40),
                },
            )


def mark_recipients(project: Any) -> None:
    """Give each recipient what a verification leaves with them."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE verification_recipient AS recipient SET verified_at = last.at, verified_channel = 'sms',"
            " language = last.language FROM ("
            " SELECT recipient_id, max(verified_at) AS at, max(language) AS language FROM verification_session"
            " WHERE project_id = %s AND verified_at IS NOT NULL GROUP BY recipient_id"
            ") AS last WHERE last.recipient_id = recipient.id",
            [project.pk],
        )


def add_guarded_sends(project: Any, now: datetime) -> None:
    """Add the rows by which the guard and the overview tell the countries of the last day."""
    from verification.core.addresses import country_of
    from verification.models import GuardedSend, Message, Session

    sent = Message.objects.filter(project=project, created_at__gt=now - timedelta(days=1)).select_related("recipient")
    rows = list(sent)
    verified = dict(Session.objects.filter(pk__in=[row.session_id for row in rows]).values_list("pk", "verified_at"))
    GuardedSend.objects.bulk_create(
        GuardedSend(
            message=row,
            project=project,
            recipient=row.recipient,
            prefix=row.recipient.address[:-4],
            country=country_of(row.recipient.address),
            is_manual=False,
            created_at=row.created_at,
            verified_at=verified.get(row.session_id or ""),
        )
        for row in rows
    )
