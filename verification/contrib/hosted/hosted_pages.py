"""Which hosted page is served at an address, and its logo."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from verification.contrib.hosted.logos import clean_logo
from verification.models import ApiKey, HostedPage, Project
from verification.services.projects import hosted_page


def find(public_id: UUID) -> HostedPage | None:
    """Return the page that is served at this id; None where it is off, or its project or key is."""
    pages = HostedPage.objects.select_related("project").filter(
        project__public_id=public_id,
        project__is_enabled=True,
        is_enabled=True,
        key__in=ApiKey.objects.live(),
    )
    return pages.defer("project__challenge_secret").first()


@transaction.atomic
def set_logo(project: Project, data: bytes | None) -> HostedPage:
    """Take a new logo, or with None take it away. Raises :class:`UserError` for what is no small PNG."""
    page = hosted_page.locked(project)
    page.logo = clean_logo(data) if data is not None else None
    page.save()
    return page
