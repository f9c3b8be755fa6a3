"""Selections of rows that several places ask for, by name."""

from __future__ import annotations

from typing import Any, Self, TypeVar

from django.db import models
from django.db.models import F, Q
from django.utils import timezone

M = TypeVar("M", bound=models.Model)


class Expiring(models.QuerySet[M]):
    """Rows with an ``expires_at``, which may be null for those without an end."""

    def live(self) -> Self:
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))

    def expired(self) -> Self:
        return self.filter(expires_at__lte=timezone.now())


class Providers(models.QuerySet[M]):
    """Accounts, of projects and of the system."""

    def of(self, *projects: Any) -> Self:
        """Return the accounts of these projects, given as rows, ids or querysets, and the system's."""
        mine = Q(project=None)
        for each in projects:
            mine |= Q(project__in=each) if isinstance(each, models.QuerySet | set | list) else Q(project=each)
        return self.filter(mine)

    def serving(self, *projects: Any) -> Self:
        """Return the enabled accounts that messages of these projects go out over."""
        return self.of(*projects).filter(is_enabled=True)

    def working(self) -> Self:
        """Return the enabled accounts that may do something now: the system's, and those of enabled projects."""
        return self.filter(Q(project=None) | Q(project__is_enabled=True), is_enabled=True)

    def in_order(self) -> Self:
        """Sort as they are tried: a project's own before the system's, then by priority."""
        return self.order_by(F("project_id").asc(nulls_last=True), "priority", "id")
