"""A group of a project's settings."""

from typing import ClassVar

from django.db import models


class SettingGroup(models.Model):
    """A group of settings in the order in which people read them. ``title`` heads it on the page and in the help."""

    title: ClassVar[str]

    class Meta:
        abstract = True
