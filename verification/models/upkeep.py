"""The rows of what the service does for itself, and when it last did; and the processes that do it."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now


class Upkeep(models.Model):
    """One kind of recurring work. Whoever moves ``started_at`` forward does the next run."""

    name = models.CharField(primary_key=True, max_length=40)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class Worker(models.Model):
    """A worker process. It moves ``seen_at`` forward while it runs, and takes its row away when it stops."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    version = models.CharField(max_length=40)
    threads = models.PositiveIntegerField()
    kinds = ArrayField(models.CharField(max_length=20), help_text="What it works on: messages, connections.")
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now(), db_index=True)

    def __str__(self) -> str:
        return f"{self.host}, process {self.pid}"
