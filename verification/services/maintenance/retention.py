"""Retention: each project keeps its rows for ``retention_days``. Rows that live, or may be asked for, never go.

Work is done in small batches, each a transaction of its own, so that no lock is held for long. It waits for nobody's
lock: rows that somebody holds are left for the next run. A failure keeps nothing else from its turn. The figures that
last are counted before their rows go; how far a project's rows are gone is noted first, so that none is counted again.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.apps import apps
from django.contrib.sessions.models import Session as PanelSession
from django.db import transaction
from django.db.models import Exists, Min, OuterRef, Q, QuerySet
from django.utils import timezone

from verification import sql
from verification.core import crypto
from verification.core.errors import UserError
from verification.core.session_rules import LONGEST_VERIFICATION
from verification.models import (
    Alert,
    ApiKey,
    BotChat,
    BotUpdate,
    DailyChannelCost,
    DailySpend,
    Decision,
    DeliveryAttempt,
    GuardBlock,
    GuardedSend,
    IdempotentRequest,
    Invitation,
    ListEntry,
    Message,
    Project,
    PurgedRows,
    Recipient,
    RetentionMode,
    RiskVerdict,
    Session,
    SpentForm,
    Suppression,
    Upkeep,
    UsedChallenge,
    VerifyToken,
    WebhookEvent,
    WrongCode,
)
from verification.services.analytics import rollups
from verification.services.manual.idempotency import KEPT
from verification.services.projects.project_terms import LONGEST_DAYS
from verification.services.records import workers

log = logging.getLogger(__name__)

# Least days of retention: limits are counted from rows, and the API answers 409 and 410 for a day.
MIN_DAYS = LONGEST_DAYS
# How long audit entries are kept: a year, and time to look back at it. The database refuses to lose the last 90 days.
AUDIT_KEPT = timedelta(days=400)
REQUEST_REMOVED: dict[str, Any] = {"request": None, "caller_request": ""}  # the ids of a row's request
FORGOTTEN_FOR = timedelta(days=LONGEST_DAYS)  # how long the limits remember somebody who was erased
FORMS_SPENT = timedelta(days=1)  # digests of sent forms: longer than a login lasts, and with it any form
UPDATES_KEPT = timedelta(days=2)  # updates of bots, by which repeated calls are known. Messengers repeat for a day.
BOT_CHATS = timedelta(days=1)  # chats that lead to no session. A user who comes back starts the bot again.
PLATFORM_ENTRIES = timedelta(days=30)  # list entries of the platform, after they have ended
INVITATIONS_KEPT = timedelta(days=30)  # after their links ended, for whoever asks what became of one
PANEL_LOG_KEPT = timedelta(days=30)  # it feeds the last steps on the overview; the record is the audit log
BATCH = 1_000  # rows of one transaction
PERIOD = timedelta(hours=6)  # from one run's start to the next: four a day, so that none has much to do
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)  # before any row
RUN = "purge"  # name of its row in Upkeep


def purge(*, days: int | None = None) -> dict[str, int]:
    """Remove what is older than each project keeps it, or than ``days``. Projects that say so hash it instead.

    Return the number of rows by kind. Raises :class:`UserError`, and the first failure once all the rest is done.
    Such a run does not count as finished.
    """
    if days is not None and days < MIN_DAYS:
        raise UserError(f"Watchword keeps rows for at least {MIN_DAYS} day{('' if MIN_DAYS == 1 else 's')}.")
    now = timezone.now()
    started = Upkeep.objects.update_or_create(name=RUN, defaults={"started_at": now})[0]
    counts: Counter[str] = Counter()
    failures: list[Exception] = []

    def do(name: str, remove: Callable[[], dict[str, int]]) -> None:
        try:
            counts.update(remove())
        except Exception as error:  # one project's, or one kind of rows'; the others have their turn
            failures.append(error)
            log.error("The purge of %s failed: %s", name, sql.reason(error))

    do("figures", _count_figures)
    for project in Project.objects.order_by("pk"):
        do(f"project {project.pk}", partial(_purge_project, project, now, days))
    for kind, rows in _of_no_project(now).items():
        do(kind, partial(_counted, kind, rows))
    do("old figures", partial(rollups.purge, now))
    do("audit entries", lambda: {"audit_entries": sql.value("purge_audit", before=now - AUDIT_KEPT)})
    do("forgotten recipients", lambda: {"forgotten": _end_forgotten(now - FORGOTTEN_FOR)})
    if failures:
        raise failures[0]
    Upkeep.objects.filter(pk=started.pk).update(finished_at=timezone.now())
    return dict(counts)


def claim_run() -> list[tuple[str]]:
    """Claim the next run. Return it to the first worker that asks once it is due, and to all others nothing."""
    before = last_purge() or first_project_at()
    if not Upkeep.objects.claim(RUN, period=PERIOD, now=timezone.now()):
        return []
    if is_overdue(before):
        log.error("The purge of old rows last ran at %s; it is due every %s.", before, PERIOD)
    return [(RUN,)]


def last_purge() -> datetime | None:
    """Return the time at which the last run finished, or None."""
    return Upkeep.objects.filter(name=RUN).values_list("finished_at", flat=True).first()


def first_project_at() -> datetime | None:
    """Return when the oldest project was made: recurring work that never ended has been awaited since then."""
    first: datetime | None = Project.objects.aggregate(first=Min("created_at"))["first"]
    return first


def is_overdue(since: datetime | None) -> bool:
    """Return whether two periods have passed since the last run ended, or since the first project was made where none
    ever did. Without a project there is nothing to purge."""
    return since is not None and since < timezone.now() - 2 * PERIOD


# --- what is old -------------------------------------------------------------------------------------------------


def old_messages(before: datetime) -> QuerySet[Message]:
    """Return old messages that are final and whose callback is not on its way."""
    pending = WebhookEvent.objects.filter(message=OuterRef("pk"), due_at__isnull=False)
    return Message.objects.filter(~Exists(pending), created_at__lt=before, finished_at__isnull=False)


def old_sessions(before: datetime) -> QuerySet[Session]:
    """Return sessions whose code and token ended before then, with no message that is kept and no event on its way."""
    pending = WebhookEvent.objects.filter(session=OuterRef("pk"), due_at__isnull=False)
    kept = Message.objects.filter(session=OuterRef("pk")).exclude(pk__in=old_messages(before).values("pk"))
    return Session.objects.filter(~Exists(kept), ~Exists(pending), created_at__lt=before - LONGEST_VERIFICATION)


def _lone_events(before: datetime) -> QuerySet[WebhookEvent]:
    """Return old events of refused requests that opened no session; all others go with their session or message."""
    return WebhookEvent.objects.filter(session=None, message=None, due_at=None, created_at__lt=before)


def _empty_recipients(before: datetime) -> QuerySet[Recipient]:
    """Return recipients without a session, a message, a subscription to a bot, or a suppression that holds."""
    return Recipient.objects.filter(
        ~Exists(Session.objects.filter(recipient=OuterRef("pk"))),
        ~Exists(Message.objects.filter(recipient=OuterRef("pk"))),
        ~Exists(Suppression.objects.filter(recipient=OuterRef("pk"), lifted_at=None)),
        created_at__lt=before,
        forgotten_at=None,
        subscriptions=None,
    )


def _of_no_project(now: datetime) -> dict[str, QuerySet[Any]]:
    return {
        "idempotent_requests": IdempotentRequest.objects.filter(created_at__lt=now - KEPT),
        "used_challenges": UsedChallenge.objects.filter(expires_at__lt=now),
        "bot_updates": BotUpdate.objects.filter(received_at__lt=now - UPDATES_KEPT),
        "bot_chats": BotChat.objects.filter(session=None, started_at__lt=now - BOT_CHATS),
        "list_entries": ListEntry.objects.filter(project=None, expires_at__lt=now - PLATFORM_ENTRIES),
        "invitations": Invitation.objects.filter(expires_at__lt=now - INVITATIONS_KEPT),
        "spent_forms": SpentForm.objects.filter(spent_at__lt=now - FORMS_SPENT),
        "panel_log": apps.get_model("admin", "LogEntry").objects.filter(action_time__lt=now - PANEL_LOG_KEPT),
        "panel_sessions": PanelSession.objects.filter(expire_date__lt=now),
        "workers": workers.gone(),
    }


def _count_figures() -> dict[str, int]:
    rollups.count_due()
    return {}


def _record_purge(project: Project, before: datetime) -> None:
    """Note that rows before then are being removed. The time never moves back, whatever ``retention_days`` becomes.

    A project that was deleted meanwhile has nothing to note.
    """
    with transaction.atomic():
        sql.take_removal_turn(project.pk)
        if Project.objects.filter(pk=project.pk).exists():
            PurgedRows.objects.bulk_create([PurgedRows(project=project, before=before)], ignore_conflicts=True)
            PurgedRows.objects.filter(project=project, before__lt=before).update(before=before)


def _counted(kind: str, rows: QuerySet[Any]) -> dict[str, int]:
    return {kind: _delete(rows)}


def _purge_project(project: Project, now: datetime, days: int | None) -> dict[str, int]:
    before = now - timedelta(days=max(days or project.retention_days, MIN_DAYS))
    _record_purge(project, before)
    counts = {"messages": 0, "sessions": 0, "hashed": 0}
    if project.retention_mode == RetentionMode.HASH:
        counts["hashed"] = _hash_old_rows(project, before)
    else:
        counts["messages"] = _purge_oldest("purge_messages", project, before, first=0)
        counts["sessions"] = _purge_oldest("purge_sessions", project, before - LONGEST_VERIFICATION, first="")
    return {
        **counts,
        "recipients": _delete(_empty_recipients(before).filter(project=project), project),
        "guard_blocks": _delete(GuardBlock.objects.filter(project=project, until__lt=before), project),
        "events": _delete(_lone_events(before).filter(project=project), project),
        "decisions": _delete(Decision.objects.filter(project=project, last_at__lt=before), project),
        "alerts": _delete(Alert.objects.filter(project=project, created_at__lt=before), project),
        "keys": _delete(ApiKey.objects.ended_before(before).filter(project=project), project),
        "list_entries": _delete(ListEntry.objects.filter(project=project, expires_at__lt=before), project),
        "daily_channel_costs": _delete(
            DailyChannelCost.objects.filter(project=project, day__lt=before.date()), project
        ),
        "daily_spends": _delete(DailySpend.objects.filter(project=project, day__lt=before.date()), project),
    }


# --- how it goes -------------------------------------------------------------------------------------------------


def _delete(rows: QuerySet[Any], project: Project | None = None) -> int:
    """Delete in batches. Return the number of the rows themselves, not of what goes with them.

    Each batch is locked and looked at again before it goes: the last holder of a lock may have changed the row, or
    given the recipient a session. Rows that somebody holds are left for the next run.
    """
    total = 0
    for keys in _batches(rows):
        with transaction.atomic():
            if project is not None:
                sql.take_removal_turn(project.pk)
            own = rows.model._default_manager.filter(pk__in=keys)
            keys = list(own.select_for_update(skip_locked=True).values_list("pk", flat=True))
            keys = list(rows.filter(pk__in=keys).values_list("pk", flat=True))
            rows.model._default_manager.filter(pk__in=keys).delete()
        total += len(keys)
    return total


def _purge_oldest(function: str, project: Project, before: datetime, *, first: int | str) -> int:
    """Delete a project's rows in batches from the oldest on, and return their number. ``first`` is before any id."""
    total, looked_at, after, after_id = 0, BATCH, LONG_AGO, first
    while looked_at == BATCH:
        with transaction.atomic():
            sql.take_removal_turn(project.pk)
            batch = sql.call(function, project=project.pk, before=before, after=after, after_id=after_id, limit=BATCH)
        total += batch.deleted
        looked_at, after, after_id = batch.looked_at, batch.last_at, batch.last_id
    return total


def _batches(rows: QuerySet[Any]) -> Iterator[list[Any]]:
    """Yield the primary keys of ``rows``, each once, whatever is done to the rows meanwhile."""
    ordered = rows.order_by("pk").values_list("pk", flat=True)
    batch = list(ordered[:BATCH])
    while batch:
        yield batch
        batch = list(ordered.filter(pk__gt=batch[-1])[:BATCH])


def _hash_old_rows(project: Project, before: datetime) -> int:
    """Move old rows from their recipients to the recipients' hashes. Return the number of those recipients."""
    has_old_rows = Q(Exists(old_messages(before).filter(recipient=OuterRef("pk")))) | Q(
        Exists(old_sessions(before).filter(recipient=OuterRef("pk")))
    )
    plain = Recipient.objects.filter(has_old_rows, project=project, forgotten_at=None, created_at__lt=before)
    total = 0
    for keys in _batches(plain.exclude(address__startswith=crypto.HASHED)):
        for key in keys:
            total += _hash_rows_of(key, before)
    return total


@transaction.atomic
def _hash_rows_of(recipient_id: int, before: datetime) -> bool:
    recipient = Recipient.objects.filter(pk=recipient_id).first()
    if recipient is None:
        return False
    sql.take_removal_turn(recipient.project_id)
    name = crypto.hashed_address(recipient.project_id, recipient.address)
    twin, _ = Recipient.objects.get_or_create(project_id=recipient.project_id, address=name)
    both = Recipient.objects.filter(pk__in=(recipient.pk, twin.pk), address__in=(recipient.address, name))
    if len(both.select_for_update(skip_locked=True).order_by("pk")) < 2:  # somebody has it in hand, or has erased it
        return False
    old = old_messages(before).filter(recipient=recipient).order_by("pk")
    messages = list(old.select_for_update(skip_locked=True, of=("self",)).values_list("pk", flat=True))
    sessions = list(old_sessions(before).filter(recipient=recipient).values_list("pk", flat=True))
    strip(messages, sessions)
    # Abandoned sessions are still `is_open`. A unique constraint allows one per recipient, and the twin may have one.
    Session.objects.filter(pk__in=sessions).update(recipient=twin, is_open=False)
    Message.objects.filter(pk__in=messages).update(recipient=twin)
    return True


def strip(messages: list[int], sessions: list[str]) -> None:
    """Remove from rows whatever else may identify a person.

    That is vendors' ids (WhatsApp's hold the number), events, callback URLs, prefixes of numbers, tokens, stored
    answers, client networks, and what callers choose freely: the ids of requests, and references.
    """
    Message.objects.filter(pk__in=messages).update(
        provider_message_id=None, callback_url="", mailbox=None, **REQUEST_REMOVED, subnet=""
    )
    Session.objects.filter(pk__in=sessions).update(**REQUEST_REMOVED, subnet="", reference="")
    WrongCode.objects.filter(session__in=sessions).update(**REQUEST_REMOVED)
    DeliveryAttempt.objects.filter(message__in=messages).update(provider_message_id=None, provider_status="", error="")
    WebhookEvent.objects.filter(Q(message__in=messages) | Q(session__in=sessions)).delete()
    IdempotentRequest.objects.filter(message__in=messages).delete()
    GuardedSend.objects.filter(message__in=messages).delete()
    RiskVerdict.objects.filter(message__in=messages).update(reason="")
    VerifyToken.objects.filter(session__in=sessions).delete()
    WrongCode.objects.filter(session__in=sessions, created_at__lt=timezone.now() - FORGOTTEN_FOR).delete()


def _end_forgotten(before: datetime) -> int:
    """Remove the rows of erased recipients that the day's limits needed. An opt-out stays, under the hash."""
    rows = Recipient.objects.filter(forgotten_at__lt=before)
    _delete(Message.objects.filter(recipient__in=rows))
    _delete(Session.objects.filter(recipient__in=rows))
    rows.exclude(erased_hash=None).update(erased_hash=None)
    return _delete(
        rows.filter(
            ~Exists(Suppression.objects.filter(recipient=OuterRef("pk"), lifted_at=None)),
            ~Exists(Session.objects.filter(recipient=OuterRef("pk"))),
            ~Exists(Message.objects.filter(recipient=OuterRef("pk"))),
        )
    )
