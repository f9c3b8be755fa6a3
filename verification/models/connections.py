"""Connections: the identity systems that hand their codes over to a project."""

import uuid

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from verification.models.channels import ChannelType
from verification.models.fields import NameField
from verification.models.projects import Project

NAME_MAX_LENGTH = 80  # characters


class IdentityConnection(models.Model):
    """One identity system, such as Supabase or Zitadel, that calls us with each code which its users are to get.

    The address that it calls has the ``public_id``; its proof is made with ``secret``, which is kept encrypted and not
    as a digest, because signatures are computed with it. An empty ``channel`` is chosen anew for each recipient.
    ``options`` are those that the system's file in ``contrib/connections/systems`` declares.
    """

    public_id = models.UUIDField(_("public ID"), default=uuid.uuid4, unique=True, editable=False)
    project = models.ForeignKey(
        Project, verbose_name=_("project"), on_delete=models.CASCADE, related_name="connections"
    )
    system = models.CharField(_("system"), max_length=20)
    channel = models.CharField(_("channel"), max_length=20, choices=ChannelType.choices, blank=True)
    name = NameField(_("name"), max_length=NAME_MAX_LENGTH)
    secret = models.BinaryField(_("secret"), editable=False)
    options = models.JSONField(_("options"), default=dict, blank=True)
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)
    last_used_at = models.DateTimeField(
        _("last used at"), null=True, editable=False, help_text=_("Accurate to one minute.")
    )

    class Meta:
        ordering = ("name", "id")
        verbose_name = _("connection")
        verbose_name_plural = _("connections")
        constraints = (
            models.CheckConstraint(name="connection_channel", condition=Q(channel__in=["", *ChannelType.values])),
        )

    def __str__(self) -> str:
        return self.name
