"""What a public demo holds: a shop with 90 days of made-up traffic, a test project to try, and the visitor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session as PanelSession
from django.db import transaction

from providers.adapters.inbox import InboxMessage
from providers.sandbox import fixed_code
from verification import sql
from verification.contrib.public_demo import season
from verification.contrib.public_demo.season import DAYS
from verification.models import (
    ApiKey,
    ChannelType,
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
from verification.services.maintenance.demo import PROJECT_NAME, Demo, load, save
from verification.services.projects.keys import digest_of
from verification.services.projects.projects import create_project
from verification.services.providers.accounts import add_sandbox

VISITOR = "visitor"
LEAD = (
    "Enter +1 212 555 0100 and the code 424242: this demo sends nothing. "
    "The carrier rejects +1 212 555 0103, 0104 bounces, and for 0106 every provider is down."
)
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
    demo = ensure_sandbox(path)
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
def ensure_sandbox(path: Path) -> Demo:
    """Return the demo that visitors try, and make it if there is none: a test project, and no user."""
    demo = load(path)
    if demo is None or not ApiKey.objects.filter(digest=digest_of(demo.api_key)).exists():
        new = create_project(name=PROJECT_NAME, is_sandbox=True)
        add_sandbox(new.project)
        keys = {"api_key": new.api_key, "secret_key": new.secret_key, "webhook_secret": new.webhook_secret}
        demo = Demo(project=new.project.pk, **keys, admin_user="", admin_password="")
        save(path, demo)
    return demo


def messages(demo: Demo, most: int) -> list[InboxMessage]:
    """Return what was sent lately, the newest first. No text was kept; what became of each is there instead."""
    sent = Message.objects.filter(project=demo.project).select_related("recipient").order_by("-created_at")[:most]
    return [
        InboxMessage(
            to=each.recipient.address,
            channel=each.channel,
            subject="",
            language="",
            project="",
            text=f"{ChannelType(each.channel).label}: {each.error or each.status}",
            code=fixed_code(6, digits=True),
            at=each.created_at.isoformat(),
        )
        for each in sent
    ]


@transaction.atomic
def reset(project_id: int) -> int:
    """Remove what visitors have left: their verifications, and their sessions of the panel. Return the rows."""
    sql.take_removal_turn(project_id)
    removed = PanelSession.objects.all().delete()[0]
    for model in WRITTEN:
        path = "message__project" if model is DeliveryAttempt else "project"
        removed += model._default_manager.filter(**{path: project_id}).delete()[0]
    return removed
