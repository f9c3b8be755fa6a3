"""Alerts: a project's owner is told of an event on a page of the panel, by mail, by a signed call, and in chats.

The rows are the queue. Workers send them in threads of their own, never a request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from verification import sql
from verification.core import formats, mail_server
from verification.models import Alert
from verification.services.notifications import alert_services, own_ways, schedule

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=180)  # the time a worker has for one alert: longer than a mail, a call and ten services take
ERROR_MAX_LENGTH = 200  # characters, as the column has


def raise_alert(*, project_id: int, kind: str, key: str, title: str, detail: str) -> None:
    """Note an event for the project's owner, who is told within seconds. A kind and key alert once.

    ``key`` names the one event: its day, or the start of a finding. ``title`` is one line without secrets or whole
    addresses; ``detail`` says what happened and what to do, in sentences.
    """
    sql.call("raise_alert", project=project_id, kind=kind, key=key, title=" ".join(title.split()), detail=detail)


def unread_count(projects: Any) -> int:
    return Alert.objects.filter(project__in=projects, read_at=None).count()


def mark_read(alerts: Any) -> int:
    """Mark the alerts of a queryset as read. Return how many were unread."""
    return int(alerts.filter(read_at=None).update(read_at=timezone.now()))


# --- telling -----------------------------------------------------------------------------------------------------


@transaction.atomic
def claim_due(*, limit: int) -> list[tuple[int]]:
    """Claim alerts that are due, for the time of a lease."""
    now = sql.now()
    due = Alert.objects.select_for_update(skip_locked=True, no_key=True).filter(due_at__lte=now).order_by("due_at")
    ids = [alert.pk for alert in due.only("pk")[:limit]]
    Alert.objects.filter(pk__in=ids).update(due_at=now + LEASE, tries=F("tries") + 1)
    return [(pk,) for pk in ids]


def deliver(row: tuple[int]) -> None:
    """Tell the owner of a claimed alert by every way that has not worked yet, and note the outcome."""
    alert = Alert.objects.select_related("project").get(pk=row[0])
    # A test project's failures are wanted, so nobody is called or mailed. They stand on its page of alerts.
    is_silent = alert.project.is_sandbox
    held_until = None if is_silent else schedule.quiet_until(alert.project, alert.kind, sql.now())
    errors = [] if is_silent else _send(alert, with_people=held_until is None)
    alert.error = "; ".join(errors)[:ERROR_MAX_LENGTH]
    alert.due_at = schedule.next_try(alert.tries) if errors else None
    if held_until and alert.due_at is None:
        alert.due_at, alert.tries = held_until, 0  # people have not been tried yet
    alert.save(update_fields=["error", "due_at", "tries", "mailed_at", "posted_at", "told_services"])
    if errors and alert.due_at is None:
        log.warning("Alert %s of project %s was not sent; no more retries: %s", alert.pk, alert.project_id, alert.error)


def _send(alert: Alert, *, with_people: bool) -> list[str]:
    """Call the owner's server, and write to people unless they are left alone. Return what failed."""
    ways = (_post, _mail, _write_to_services) if with_people else (_post,)
    return [error for way in ways for error in _send_by(way, alert)]


def _send_by(way: Callable[[Alert], list[str]], alert: Alert) -> list[str]:
    """Tell by one way, and keep at once that it worked, so that a worker that dies now tells nobody twice."""
    try:
        errors = way(alert)
    except DatabaseError:
        raise
    except Exception as error:  # no fault of the owner's: it is tried again by the schedule, and the other ways now
        what = type(error).__name__  # alone: a library's words may hold the address, which is a secret
        log.error("Alert %s of project %s could not be sent: %s.", alert.pk, alert.project_id, what)
        return [what]
    alert.save(update_fields=["mailed_at", "posted_at", "told_services"])
    return errors


def _mail(alert: Alert) -> list[str]:
    """Mail the alert. Return why that failed. Without a mail server there is nothing to try again."""
    project = alert.project
    if alert.mailed_at or not (project.alert_by_mail and own_ways.mail_addresses(project)):
        return []
    page = settings.BASE_URL + reverse("admin:verification_alert_change", args=(alert.pk,))
    at = formats.iso_time(alert.created_at, "seconds")
    error = own_ways.send_mail(
        project,
        subject=f"[{project.name}] {alert.title}",
        body=f"{alert.detail}\n\nProject: {project.name}\nAt: {at}\n{page}\n",
    )
    if error == mail_server.NOT_SET_UP:
        return []
    if error:
        return [f"e-mail: {error}"]
    alert.mailed_at = sql.now()
    return []


def _write_to_services(alert: Alert) -> list[str]:
    """Write the alert to the services that have not taken it. Return why some failed."""
    page = settings.BASE_URL + reverse("admin:verification_alert_change", args=(alert.pk,))
    alert.told_services, errors = alert_services.send_to_all(
        alert.project,
        alert.told_services or [],
        title=f"[{alert.project.name}] {alert.title}",
        text=f"{alert.detail}\n{page}",
    )
    return errors


def _post(alert: Alert) -> list[str]:
    """Call the owner's server. Return why that failed."""
    project = alert.project
    if alert.posted_at or not (project.alert_by_webhook and project.alert_url):
        return []
    body = {
        "id": alert.pk,
        "project": project.name,
        "kind": alert.kind,
        "title": alert.title,
        "detail": alert.detail,
        "created_at": formats.iso_time(alert.created_at, "seconds"),
    }
    if error := own_ways.call_webhook(project, event_id=f"alert_{alert.pk}", body=body):
        return [f"webhook: {error}"]
    alert.posted_at = sql.now()
    return []
