"""Hosted pages: the page of a project where its users verify, for owners who have no front end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from verification.contrib.hosted.logos import clean_logo
from verification.models import ApiKey, HostedPage, KeyKind, Project, bounds
from verification.services.projects.keys import issue_key, revoke_key

SETTABLE = ("is_enabled", "title", "accent", "return_addresses", "hand_over")


def find(public_id: UUID) -> HostedPage | None:
    """Return the page that is served at this id; None where it is off, or its project or key is."""
    pages = HostedPage.objects.select_related("project").filter(
        project__public_id=public_id,
        project__is_enabled=True,
        is_enabled=True,
        key__in=ApiKey.objects.live(),
    )
    return pages.defer("project__challenge_secret").first()


def page_of(project: Project) -> HostedPage:
    """Return the project's page, one with the defaults where none was saved yet."""
    return HostedPage.objects.filter(project=project).first() or HostedPage(project=project)


@transaction.atomic
def save(project: Project, values: Mapping[str, Any], *, by: Any = None) -> HostedPage:
    """Change the page. One that is on has a live API key, and one that is off has none.

    Raises ``ValidationError`` for a value that does not do, and :class:`UserError` where the project has too many keys.
    """
    page = _locked(project)
    for name, value in values.items():
        assert name in SETTABLE
        setattr(page, name, value)
    page.full_clean(exclude=["key", "logo"])
    _fit_key(page, by)
    page.save()
    return page


@transaction.atomic
def set_logo(project: Project, data: bytes | None) -> HostedPage:
    """Take a new logo, or with None take it away. Raises :class:`UserError` for what is no small PNG."""
    page = _locked(project)
    page.logo = clean_logo(data) if data is not None else None
    page.save()
    return page


def _locked(project: Project) -> HostedPage:
    """Return the page once nobody else changes it. The project's lock holds also where it has no row yet."""
    bounds.lock(project)
    return page_of(project)


def _fit_key(page: HostedPage, by: Any) -> None:
    is_live = page.key_id is not None and ApiKey.objects.live().filter(pk=page.key_id).exists()
    if page.is_enabled and not is_live:
        new = issue_key(project=page.project, kind=KeyKind.API, created_by=by)
        page.key_id, page.key_text = new.id, new.text
    if not page.is_enabled and page.key_id is not None:
        revoke_key(page.key_id)
        page.key_id, page.key_text = None, ""
