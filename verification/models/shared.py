"""What several models share: choices, querysets, the columns of a request, groups of settings."""

from __future__ import annotations

from typing import Any, ClassVar, Self, TypeVar

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from verification.core import request_ids


class Choice(models.TextChoices):
    """The reason why an attempt went to its provider. Each word ends the sentence "It was asked …"."""

    ORDER = "order", _("first in priority order")
    ONLY = "only", _("only available provider")
    SHARE = "share", _("chosen by weight")
    BEST = "best", _("best results so far")
    EXPLORED = "explored", _("exploration")
    RULE = "rule", _("routing rule")
    INSTEAD = "instead", _("the provider before it was slow or paused")
    NEXT = "next", _("another provider had not accepted it")
    PROBE = "probe", _("probe after a pause")
    PINNED = "pinned", _("named in the request")


CHOICE_MAX_LENGTH = 10  # characters of a code


class EventType(models.TextChoices):
    """The kind of an event. A project chooses which it is told.

    Besides, a manual send tells its end to the ``callback_url`` that it named, if any.
    """

    MESSAGE_FINISHED = "message.finished", _("Message finished")
    SESSION_OPENED = "session.opened", _("Session opened")
    SESSION_VERIFIED = "session.verified", _("Session verified")
    SESSION_LOCKED = "session.locked", _("Session locked")
    SESSION_EXPIRED = "session.expired", _("Session expired")
    SESSION_REFUSED = "session.refused", _("Session refused")
    SESSION_UNDELIVERED = "session.undelivered", _("Code not delivered")


SESSION_EVENTS = tuple(each for each in EventType if each is not EventType.MESSAGE_FINISHED)
EVENT_TYPE_MAX_LENGTH = 20  # characters; the longest name has 19


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


def request_field() -> Any:
    return models.UUIDField(
        null=True, help_text="The id of the request, if it tells its time: by that the row is found without an index."
    )


def caller_request_field() -> Any:
    return models.CharField(
        max_length=request_ids.REQUEST_ID_MAX_LENGTH,
        default="",
        db_default="",
        help_text="The id of the request, if its caller chose it.",
    )


class Requested(models.Model):
    """A row that a request made, with the request's id in one of two columns."""

    request = request_field()
    caller_request = caller_request_field()

    class Meta:
        abstract = True

    @property
    def request_id(self) -> str:
        return request_ids.format_request_id(self.request, self.caller_request)


class SettingGroup(models.Model):
    """A group of settings in the order in which people read them. ``title`` heads it on the page and in the help."""

    title: ClassVar[str]

    class Meta:
        abstract = True
