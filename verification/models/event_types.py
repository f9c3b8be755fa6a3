"""The kinds of events that customers' servers are told of."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class EventType(models.TextChoices):
    """The kind of an event. A message tells its end where its send named a ``callback_url``.

    A project chooses which events of its sessions it is told.
    """

    MESSAGE_FINISHED = "message.finished", _("Message finished")
    SESSION_OPENED = "session.opened", _("Session opened")
    SESSION_VERIFIED = "session.verified", _("Session verified")
    SESSION_LOCKED = "session.locked", _("Session locked")
    SESSION_EXPIRED = "session.expired", _("Session expired")
    SESSION_REFUSED = "session.refused", _("Session refused")


SESSION_EVENTS = tuple(each for each in EventType if each is not EventType.MESSAGE_FINISHED)
EVENT_TYPE_MAX_LENGTH = 20  # characters; the longest name has 16
