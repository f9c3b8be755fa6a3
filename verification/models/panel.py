"""What the panel keeps for its users: the views of lists that they saved, and the columns that they chose."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower, Now
from django.utils.translation import gettext_lazy as _

PAGE_MAX_LENGTH = 60  # characters of a model's label
COLUMN_MAX_LENGTH = 60
VIEW_NAME_MAX_LENGTH = 60  # characters, of which a tab shows some twenty
VIEW_QUERY_MAX_LENGTH = 2_000  # characters of an address's query


class SavedView(models.Model):
    """A view of a list that a user saved: the filters and columns that stood in its address, under a name."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    page = models.CharField(max_length=PAGE_MAX_LENGTH, help_text="The label of the list's model.")
    name = models.CharField(_("name"), max_length=VIEW_NAME_MAX_LENGTH)
    query = models.CharField(max_length=VIEW_QUERY_MAX_LENGTH, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ("created_at", "id")
        constraints = (models.UniqueConstraint("user", "page", Lower("name"), name="saved_view_name"),)

    def __str__(self) -> str:
        return self.name


class ColumnChoice(models.Model):
    """The columns that a user chose for a list, in the list's own order."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    page = models.CharField(max_length=PAGE_MAX_LENGTH, help_text="The label of the list's model.")
    columns = ArrayField(models.CharField(max_length=COLUMN_MAX_LENGTH))

    class Meta:
        constraints = (models.UniqueConstraint(fields=("user", "page"), name="column_choice_once"),)

    def __str__(self) -> str:
        return f"columns of {self.page}"
