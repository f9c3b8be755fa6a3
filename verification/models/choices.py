"""The reasons for which a provider was asked, in the codes that an attempt keeps and the words that people read."""

from django.db import models


class Choice(models.TextChoices):
    """The reason why an attempt went to its provider. Each word ends the sentence "It was asked …"."""

    ORDER = "order", "as the first in the order"
    ONLY = "only", "as the only one that could carry it"
    SHARE = "share", "by its share among equals"
    BEST = "best", "as the best by what it has shown"
    EXPLORED = "explored", "to learn how it does now"
    INSTEAD = "instead", "as one before it was late or set aside"
    NEXT = "next", "as another one had not taken it"
    PROBE = "probe", "to see whether it works again"
    PINNED = "pinned", "as the request named it"


CHOICE_MAX_LENGTH = 10  # characters of a code
