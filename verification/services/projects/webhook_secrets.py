"""The secrets that a project's callbacks are signed with."""

from __future__ import annotations

import base64
import secrets
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from verification.core import crypto
from verification.core.crypto import decrypt, encrypt
from verification.models import Project, WebhookSecret, bounds

WEBHOOK_SECRET_BYTES = 32  # Standard Webhooks asks for 24 to 64
WEBHOOK_OVERLAP = timedelta(hours=24)  # how long the old secret goes on signing after a rotation


def issue_webhook_secret(*, project: Project, expires_at: datetime | None = None) -> str:
    """A further secret that signs the project's callbacks, in the writing of Standard Webhooks."""
    text = "whsec_" + base64.b64encode(secrets.token_bytes(WEBHOOK_SECRET_BYTES)).decode()
    WebhookSecret.objects.create(
        project=project,
        secret=encrypt(text, binding=crypto.webhook_secret_binding(project.public_id)),
        expires_at=expires_at,
    )
    return text


def live_webhook_secrets(project: Project) -> list[tuple[str, datetime | None]]:
    """The secrets that sign now, the newest first, each with the time at which it stops."""
    binding = crypto.webhook_secret_binding(project.public_id)
    return [(decrypt(bytes(row.secret), binding=binding), row.expires_at) for row in project.webhook_secrets.live()]


@transaction.atomic
def rotate_webhook_secret(project: Project) -> str:
    """A new secret beside the present ones, which go on signing for a day, so that no receiver misses a callback.

    Raises :class:`UserError` where too many sign already.
    """
    now = timezone.now()
    bounds.require_room(
        project,
        project.webhook_secrets.live(),
        bounds.MAX_WEBHOOK_SECRETS,
        _("{max_webhook_secrets} secrets are already in use. An old one expires within a day of its rotation.").format(
            max_webhook_secrets=bounds.MAX_WEBHOOK_SECRETS
        ),
    )
    end = now + WEBHOOK_OVERLAP
    endless = Q(expires_at=None) | Q(expires_at__gt=end)
    project.webhook_secrets.filter(endless).update(expires_at=end)
    return issue_webhook_secret(project=project)
