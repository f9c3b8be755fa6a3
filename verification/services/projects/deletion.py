"""Deleting a project: it stops at once, and its rows go in batches by a worker, however many there are."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from verification import sql
from verification.core.errors import UserError
from verification.models import (
    Alert,
    BotUpdate,
    DailyCosts,
    DailyFigures,
    Decision,
    HourlyCosts,
    HourlyFaults,
    HourlyFigures,
    HourlyRefusals,
    IdempotentRequest,
    Message,
    Project,
    Provider,
    Recipient,
    Session,
    UsedChallenge,
    WebhookEvent,
)

BATCH = 1_000  # Rows of one transaction.
TURN_SECONDS = 5.0  # Work at a time, so that a worker that is to stop need not wait for all of it.
UNDER_WAY = timedelta(minutes=1)  # Time for requests and sends that began before to end.


def mark(project: Project, *, typed_name: str) -> None:
    """Stop the project and leave it to the workers to remove. Raises :class:`UserError` where the name is another."""
    if typed_name.strip() != project.name:
        raise UserError(
            _("The name does not match. To delete the project, enter {project}").format(project=project.name)
        )
    Project.objects.filter(pk=project.pk, deleted_at=None).update(is_enabled=False, deleted_at=timezone.now())


def due(*, limit: int, but: Iterable[int] = ()) -> list[tuple[int]]:
    """The ids of projects that are marked, and of which nothing is under way any more, ``but`` for some."""
    marked = Project.objects.filter(deleted_at__lte=timezone.now() - UNDER_WAY).exclude(pk__in=but)
    return list(marked.order_by("deleted_at").values_list("pk")[:limit])


def carry_on(project_id: int) -> bool:
    """Remove rows for one turn, and the project with the last of them. Returns whether it is gone.

    Each batch is a transaction of its own, so the work is broken off and taken up at will, by several workers at once
    too: a row that one of them holds, the others pass over.
    """
    give_up_at = time.monotonic() + TURN_SECONDS
    for rows in _rows_of(project_id):
        while _remove_batch(project_id, rows):
            if time.monotonic() > give_up_at:
                return False
    with transaction.atomic():
        sql.take_removal_turn(project_id)
        project = Project.objects.select_for_update(skip_locked=True).filter(pk=project_id, deleted_at__isnull=False)
        return bool(project.delete()[0]) if project else False


def _rows_of(project_id: int) -> Iterator[QuerySet[Any]]:
    """The tables with many rows, in an order in which nothing refers to what has gone; the rest goes with the row."""
    models = (IdempotentRequest, WebhookEvent, Message, Session, UsedChallenge, Recipient, Decision, Alert)
    for model in (*models, HourlyFigures, DailyFigures, HourlyCosts, DailyCosts, HourlyFaults, HourlyRefusals):
        yield model._default_manager.filter(project=project_id)
    yield BotUpdate.objects.filter(provider__in=Provider.objects.filter(project=project_id))


def _remove_batch(project_id: int, rows: QuerySet[Any]) -> bool:
    """Return whether there was one."""
    with transaction.atomic():
        sql.take_removal_turn(project_id)
        keys = list(rows.select_for_update(skip_locked=True).values_list("pk", flat=True)[:BATCH])
        rows.model._default_manager.filter(pk__in=keys).delete()
    return bool(keys)
