"""The ways of alerting that a project has by its settings, by e-mail and by webhook, and how the last of each ended.

A test goes by the same functions as an alert. Chats and services are rows of their own: ``alert_services.py``.
"""

from __future__ import annotations

import time
from typing import Any

from django.core.mail import EmailMessage
from django.db.models import Q
from django.utils.translation import gettext as _

from verification import sql
from verification.core import formats, mail_server
from verification.core.bulkhead import BulkheadFull
from verification.models import AlertOutcome, AlertWay, Project
from verification.services.notifications import events
from verification.services.projects.webhook_secrets import live_webhook_secrets

ERROR_MAX_LENGTH = 200  # characters, as the column has
TEST_KIND = "test"  # the kind that a test tells the webhook


def mail_addresses(project: Project) -> list[str]:
    """Return the addresses the owner named, or else those of the members."""
    if project.alert_emails:
        return list(project.alert_emails)
    members = project.members.filter(is_active=True).exclude(email="").order_by("pk")
    return list(members.values_list("email", flat=True))


def without_any() -> list[Project]:
    """Return the live projects whose alerts reach nobody outside the panel."""
    live = Project.objects.filter(is_enabled=True, is_sandbox=False, deleted_at=None)
    silent = live.exclude(alert_services__is_enabled=True).exclude(Q(alert_by_webhook=True) & ~Q(alert_url=""))
    has_server = mail_server.has_mail_server()
    return [row for row in silent.order_by("pk") if not (has_server and row.alert_by_mail and mail_addresses(row))]


def send_mail(project: Project, *, subject: str, body: str) -> str:
    """Mail the project's addresses, and note how it ended. Return why it failed, or an empty text."""
    message = EmailMessage(
        subject=subject,
        body=body,
        to=mail_addresses(project),
        headers={"Auto-Submitted": "auto-generated"},  # RFC 3834, so that no vacation notice answers
    )
    try:
        message.send()
    except mail_server.MAIL_ERRORS as error:
        return _note(project, AlertWay.MAIL, mail_server.words_of(error))
    return _note(project, AlertWay.MAIL, "" if mail_server.has_mail_server() else mail_server.NOT_SET_UP)


def call_webhook(project: Project, *, event_id: str, body: dict[str, Any]) -> str:
    """Call the project's alert address, and note how it ended. Return why it failed, or an empty text."""
    tried = events.call(project=project, url=project.alert_url, event_id=event_id, body={"type": "alert", **body})
    return _note(project, AlertWay.WEBHOOK, "" if tried.is_delivered else tried.error)


def send_test(project: Project, way: str) -> str:
    """Send a made-up alert by one way, also in quiet hours. Return why it failed, or an empty text."""
    title = _("Test alert")
    text = _("Alerts of this project will arrive here.")
    if way == AlertWay.MAIL:
        if not mail_addresses(project):
            return _("The project has no alert e-mail address, and none of its members has one")
        return send_mail(project, subject=f"[{project.name}] {title}", body=f"{text}\n")
    if not project.alert_url:
        return _("The project has no webhook URL")
    if not live_webhook_secrets(project):
        return _("The project has no webhook secret")
    body = {
        "id": 0,
        "project": project.name,
        "kind": TEST_KIND,
        "title": title,
        "detail": text,
        "created_at": formats.iso_time(sql.now(), "seconds"),
    }
    try:
        return call_webhook(project, event_id=f"alert_test_{int(time.time())}", body=body)
    except BulkheadFull as full:
        return full.detail


def _note(project: Project, way: AlertWay, error: str) -> str:
    values = {"tried_at": sql.now(), "error": error[:ERROR_MAX_LENGTH]}
    AlertOutcome.objects.update_or_create(project=project, way=way, defaults=values)
    return error
