"""Look-ups by a whole address, by users who see recipients masked: so many at a time, and each is on record.

A mask hides few digits. Who may ask without end which numbers are known finds them one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from verification.admin.base.permissions import own_project_ids
from verification.core import crypto
from verification.core.errors import ApiError
from verification.core.formats import CLOCK, written_moment
from verification.models import Membership, Project, Recipient, Right
from verification.services.protection import limits
from verification.services.records import audit

LOOKED_UP = gettext_noop("Looked up a recipient")


class TooManyLookUps(Exception):
    """The user has looked up too many. The text is a sentence for them."""


def count_look_up(request: HttpRequest, addresses: Sequence[str]) -> None:
    """Count one look-up of what may be any of these addresses, and put it on record. Raises :class:`TooManyLookUps`.

    Nothing is counted for a user who sees the addresses of all projects that are searched, nor twice in a request.
    """
    masked = _masked_projects(request) if addresses else []
    if not masked or hasattr(request, "_looked_up"):
        return
    request._looked_up = True  # type: ignore[attr-defined]  # a list is drawn with more than one search
    try:
        limits.count(limits.LOOK_UPS, getattr(request, "looks_up_as", int(request.user.pk or 0)))
    except ApiError as refusal:
        again = timezone.now() + timedelta(seconds=refusal.retry_after or 0)
        raise TooManyLookUps(
            _(
                "Members who see masked recipients can look up {number} recipients in {minutes} minutes. "
                "You can look up the next one at {time}."
            ).format(
                number=limits.LOOK_UPS.window.amount,
                minutes=limits.LOOK_UPS.window.multiples,
                time=written_moment(again, CLOCK),
            )
        ) from None
    known = dict(
        Recipient.objects.filter(project__in=masked, address__in=addresses).values_list("project_id", "address")
    )
    for project in Project.objects.filter(pk__in=masked):
        digest = crypto.hashed_address(project.pk, known.get(project.pk, addresses[0]))
        audit.record(LOOKED_UP, project=project, label=digest)


def _masked_projects(request: HttpRequest) -> list[int]:
    """Return the projects whose traffic the user searches without seeing addresses."""
    searched = own_project_ids(request, Right.SEE_TRAFFIC)
    memberships = Membership.objects.filter(user=request.user.pk, project__in=searched, sees_addresses=False)
    return list(memberships.values_list("project_id", flat=True))
