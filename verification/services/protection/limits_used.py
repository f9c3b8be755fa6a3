"""The use of the limits by one recipient, for owners. The SQL functions that refuse count by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from django.db.models import Max, Q
from django.utils import timezone

from verification import sql
from verification.core.session_rules import CHANNEL_BLOCK_SECONDS, WRONG_CODES_DIVISORS
from verification.models import ChannelType, Message, Recipient, WrongCode
from verification.services.projects import project_terms
from verification.services.projects.snapshot import load_project
from verification.services.protection.recipient import policy_for

LONGEST_OF_SENDS, LONGEST_OF_WRONG_CODES = (
    timedelta(seconds=max(window.seconds for window in windows))
    for windows in (project_terms.SENDS, project_terms.WRONG_CODES)
)
BLOCK = timedelta(seconds=CHANNEL_BLOCK_SECONDS)


@dataclass(frozen=True, slots=True)
class LimitUse:
    """The use of one limit: ``used`` of ``limit`` within a window.

    ``free_at`` is the time at which the next is allowed, or None while it is allowed now.
    """

    what: str
    used: int
    limit: int
    window: str
    free_at: datetime | None


def limits_used(recipient: Recipient) -> list[LimitUse]:
    """Return the use of each limit that is on; nothing for a project that is disabled."""
    project = load_project(recipient.project_id)
    if project is None:
        return []
    policy = policy_for(project, project.stored_address(recipient.address))
    divisor = WRONG_CODES_DIVISORS[project.code_length]
    wrong_limits = {setting: -(-limit // divisor) for setting, limit in policy.wrong_limits.items()}
    send_limits = policy.send_limits
    sends = _latest_sends(recipient, max(send_limits.values()))
    wrong = _latest_wrong_codes(recipient, max(wrong_limits.values()))
    return [
        *_uses("codes sent", sends, send_limits, project_terms.SENDS),
        *_uses("wrong codes", wrong, wrong_limits, project_terms.WRONG_CODES),
    ]


def blocked_channels(recipient: Recipient) -> list[tuple[str, datetime]]:
    """Return the channels that are blocked after a code, each with the end of its block."""
    rows = (
        Message.objects.filter(recipient=recipient, created_at__gt=timezone.now() - BLOCK, session__isnull=False)
        .filter(Q(is_counted=True) | Q(is_test=True))
        .order_by()
        .values_list("channel")
        .annotate(Max("created_at"))
    )
    return [(str(ChannelType(channel).label), latest + BLOCK) for channel, latest in rows if latest]


def _latest_sends(recipient: Recipient, number: int) -> list[datetime]:
    """Return the times of the latest sends, the newest first. Recipients of one mailbox share its limits."""
    rows = Message.objects.filter(is_counted=True, created_at__gt=timezone.now() - LONGEST_OF_SENDS)
    counted = [rows.filter(recipient=recipient, mailbox=None)]
    if recipient.mailbox:
        key = sql.value("key_of_mailbox", project=recipient.project_id, mailbox=recipient.mailbox)
        counted.append(rows.filter(mailbox=key))
    newest = [each.order_by("-created_at").values_list("created_at", flat=True)[:number] for each in counted]
    return sorted(chain(*newest), reverse=True)[:number]


def _latest_wrong_codes(recipient: Recipient, number: int) -> list[datetime]:
    since = max(filter(None, (timezone.now() - LONGEST_OF_WRONG_CODES, recipient.verified_at)))
    rows = WrongCode.objects.filter(recipient=recipient, created_at__gt=since)
    return list(rows.order_by("-created_at").values_list("created_at", flat=True)[:number])


def _uses(
    what: str, moments: Sequence[datetime], limits: Mapping[str, int], windows: Sequence[project_terms.Window]
) -> list[LimitUse]:
    now = timezone.now()
    found = []
    for window in windows:
        limit, span = limits[window.setting], timedelta(seconds=window.seconds)
        if not limit:
            continue
        used = sum(moment > now - span for moment in moments[:limit])
        free_at = moments[limit - 1] + span if used >= limit else None
        found.append(LimitUse(what, used, limit, str(window.name), free_at))
    return found
