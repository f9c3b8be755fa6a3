"""The reasons for which a provider was asked, in the codes that an attempt keeps and the words that people read."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Choice(models.TextChoices):
    """The reason why an attempt went to its provider. Each word ends the sentence "It was asked …"."""

    ORDER = "order", _("as the first in the order")
    ONLY = "only", _("as the only one that could carry it")
    SHARE = "share", _("by its share among equals")
    BEST = "best", _("as the best by what it has shown")
    EXPLORED = "explored", _("to learn how it does now")
    INSTEAD = "instead", _("as one before it was late or set aside")
    NEXT = "next", _("as another one had not taken it")
    PROBE = "probe", _("to see whether it works again")
    PINNED = "pinned", _("as the request named it")


CHOICE_MAX_LENGTH = 10  # characters of a code
