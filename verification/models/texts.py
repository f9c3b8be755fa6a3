"""A project's own texts, the one that is tried against the present one, and what came of both."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from verification.core.formats import language_in_sentence
from verification.models.channels import ChannelType
from verification.models.fields import LANGUAGE_MAX_LENGTH, LanguageField

MIN_SHARE, MAX_SHARE = 1, 90  # percent: the present text keeps a tenth, so that there is something to compare with


class MessageTemplate(models.Model):
    """A project's own text for one channel and language. Placeholders: ``{code}``, ``{project}``, ``{minutes}``."""

    project = models.ForeignKey(
        "verification.Project", verbose_name=_("project"), on_delete=models.CASCADE, related_name="templates"
    )
    channel = models.CharField(_("channel"), max_length=20, choices=ChannelType.choices)
    language = LanguageField(_("language"), max_length=LANGUAGE_MAX_LENGTH)
    subject = models.CharField(
        pgettext_lazy("e-mail", "subject"), max_length=200, blank=True, help_text=_("For e-mail.")
    )
    text = models.TextField(_("text"), max_length=1_000)

    class Meta:
        verbose_name = _("message text")
        verbose_name_plural = _("message texts")
        ordering = ("channel", "language")
        constraints = (models.UniqueConstraint(name="template_once", fields=("project", "channel", "language")),)

    def __str__(self) -> str:
        return f"{ChannelType(self.channel).label}, {language_in_sentence(self.language)}"


class TextVariant(models.Model):
    """A second text for one channel and language of a project, which a share of the sessions get while it is tried.

    The id and a session's decide which text the session gets, so nothing is stored with the session.
    """

    project = models.ForeignKey(
        "verification.Project", verbose_name=_("project"), on_delete=models.CASCADE, related_name="text_variants"
    )
    channel = models.CharField(_("channel"), max_length=20, choices=ChannelType.choices)
    language = LanguageField(_("language"), max_length=LANGUAGE_MAX_LENGTH)
    subject = models.CharField(pgettext_lazy("e-mail", "subject"), max_length=200, blank=True)
    text = models.TextField(_("text"), max_length=1_000)
    share = models.PositiveSmallIntegerField(_("share"), help_text="Percent of the sessions that get it.")
    since = models.DateTimeField(_("since"), db_default=Now(), help_text="Sessions created since then count.")

    class Meta:
        verbose_name = _("text variant")
        verbose_name_plural = _("text variants")
        constraints = (
            models.UniqueConstraint(name="text_variant_once", fields=("project", "channel", "language")),
            models.CheckConstraint(name="text_variant_share", condition=Q(share__gte=MIN_SHARE, share__lte=MAX_SHARE)),
        )

    def __str__(self) -> str:
        return f"{ChannelType(self.channel).label}, {language_in_sentence(self.language)}"


class TextVariantFigures(models.Model):
    """The sessions of one hour that got one of the two texts, and how many of them were verified."""

    variant = models.ForeignKey(TextVariant, on_delete=models.CASCADE, related_name="figures", db_index=False)
    hour = models.DateTimeField()
    is_variant = models.BooleanField(help_text="False for the present text.")
    sessions = models.PositiveIntegerField()
    verified = models.PositiveIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(name="text_variant_hour_once", fields=("variant", "hour", "is_variant")),
        )

    def __str__(self) -> str:
        return f"figures of {self.hour}"
