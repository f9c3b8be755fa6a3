"""The settings of the hosted page that :mod:`verification.contrib.hosted` serves, and the key that it shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from verification.core.errors import UserError
from verification.models import ApiKey, HostedPage, KeyKind, Project, bounds
from verification.services.projects.keys import issue_key, revoke_key
from verification.services.projects.settings import read_text

SETTABLE = ("is_enabled", "title", "accent", "return_addresses", "hand_over")


def page_of(project: Project) -> HostedPage:
    """Return the project's page, one with the defaults where none was saved yet."""
    return HostedPage.objects.filter(project=project).first() or HostedPage(project=project)


def keys_in_use() -> QuerySet[HostedPage, Any]:
    """Return the ids of the keys that hosted pages show, as the ``values`` of a subquery. Nobody was given these."""
    return HostedPage.objects.filter(key__isnull=False).values("key")


@transaction.atomic
def save(project: Project, values: Mapping[str, Any], *, by: Any = None) -> HostedPage:
    """Change the page. One that is on has a live API key, and one that is off has none.

    Raises ``ValidationError`` for a value that does not do, and :class:`UserError` where the project has too many keys.
    """
    page = locked(project)
    for name, value in values.items():
        assert name in SETTABLE
        setattr(page, name, value)
    page.full_clean(exclude=["key", "logo"])
    _fit_key(page, by)
    page.save()
    return page


def save_from_text(project: Project, values: Mapping[str, str]) -> HostedPage:
    """Change the page by texts, as a command line gives them. Raises :class:`UserError`; then nothing is changed."""
    if unknown := values.keys() - set(SETTABLE):
        raise UserError(f"A hosted page has no {', '.join(sorted(unknown))}, but: {', '.join(SETTABLE)}.")
    read = {name: read_text(HostedPage._meta.get_field(name), text.strip()) for name, text in values.items()}
    try:
        return save(project, read)
    except ValidationError as error:
        name, texts = next(iter(error.message_dict.items()))
        raise UserError(f"{name}: {texts[0]}") from None


def locked(project: Project) -> HostedPage:
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
