"""What a public demo holds: a shop with 90 days of made-up traffic, a test project to try, and the visitor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as PanelSession
from django.db import transaction

from verification import sql
from verification.contrib.public_demo import season
from verification.contrib.public_demo.season import DAYS
from verification.models import (
    DeliveryAttempt,
    GuardedSend,
    IdempotentRequest,
    Membership,
    Message,
    Project,
    Recipient,
    Session,
    VerifyToken,
    WebhookEvent,
    WrongCode,
)
from verification.services.maintenance.demo import Demo, ensure_sandbox_demo

VISITOR = "visitor"
SESSIONS_A_DAY = 60  # of the shop: enough for each figure of the overview, and made within two minutes
# What a verification writes, children first.
WRITTEN = (
    *(VerifyToken, WrongCode, DeliveryAttempt, GuardedSend, IdempotentRequest, WebhookEvent, Message, Session),
    Recipient,
)


def ensure(path: Path, say: Callable[[str], None], *, days: int = DAYS, a_day: int = SESSIONS_A_DAY) -> Demo:
    """Make what is missing, and return the project that visitors try. Its keys are in the file at ``path``.

    The shop is a test project too, without a key: nobody can start a verification there, and none could be sent.
    """
    demo = ensure_sandbox_demo(path)
    shop = Project.objects.filter(name=season.SHOP).first()
    if shop is None:
        say("Making 90 days of traffic takes about two minutes ...")
        with transaction.atomic():  # a start that is killed leaves no half of it
            shop = season.fill(say, days=days, a_day=a_day, is_sandbox=True)
    visitor, _ = User.objects.get_or_create(username=VISITOR, defaults={"is_staff": True})
    visitor.set_unusable_password()
    visitor.save()
    for project in (shop.pk, demo.project):
        Membership.objects.get_or_create(project_id=project, user=visitor, defaults={"role": "owner"})
    return demo


@transaction.atomic
def reset(project_id: int) -> int:
    """Remove what visitors have left: their verifications, and their sessions of the panel. Return the rows."""
    sql.take_removal_turn(project_id)
    removed = PanelSession.objects.all().delete()[0]
    for model in WRITTEN:
        path = "message__project" if model is DeliveryAttempt else "project"
        removed += model._default_manager.filter(**{path: project_id}).delete()[0]
    return removed
