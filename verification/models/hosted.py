"""The hosted page of a project: its looks, and the addresses to which it hands verify tokens."""

from __future__ import annotations

import re

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from verification.core.errors import UserError
from verification.models.fields import CleanedField, ListField, NameField
from verification.models.keys import ApiKey
from verification.models.projects import Project

MAX_RETURN_ADDRESSES = 50  # Addresses of one customer's servers and their test servers.
RETURN_ADDRESS_MAX_LENGTH = 500  # Characters; it stands in a header of every answer.
DEFAULT_ACCENT = "#4f46e5"

# Characters that separate the parts of a policy or end an attribute are left out, however they are escaped later.
_RETURN_ADDRESS = re.compile(
    r"(?:https://(?P<host>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)|http://localhost)(?::[0-9]{1,5})?"
    r"(?:/[A-Za-z0-9._~!$&()*+=:@%/-]*)?(?:\?[A-Za-z0-9._~!$&()*+=:@%/?-]*)?"
)
_ACCENT = RegexValidator(r"^#[0-9a-f]{6}\Z", _("Enter a colour as # and six hex digits, such as #0f766e."))


def clean_return_address(text: str) -> str:
    """Return an address to which tokens may go, as it was typed. Raises :class:`UserError`.

    It is compared character by character, so nothing of it is changed.
    """
    address = text.strip()
    if not _RETURN_ADDRESS.fullmatch(address):
        raise UserError(
            gettext(
                "{text!r} cannot be used as a return URL. Enter the full URL, such as"
                " https://shop.example/verified, with the host in lower case and nothing after #. On this"
                " machine, http://localhost:3000/verified also works."
            ).format(text=text)
        )
    return address


class ReturnAddressField(CleanedField):
    clean_text = staticmethod(clean_return_address)


class HandOver(models.TextChoices):
    FORM = "form", _("Form, posted to your server")
    FRAGMENT = "fragment", _("Fragment, read by your script")


class HostedPage(models.Model):
    """The page of one project.

    Its API key is kept as a text, because the page shows it to everybody; of other keys only digests are kept.
    """

    project = models.OneToOneField(
        Project, verbose_name=_("project"), on_delete=models.CASCADE, related_name="hosted_page"
    )
    is_enabled = models.BooleanField(
        _("active"), default=False, help_text=_("Turns the hosted page on. When off, its URL returns “not found”.")
    )
    title = NameField(
        _("name"),
        max_length=60,
        blank=True,
        help_text=_("The name above the form. Leave empty for the project's name."),
    )
    accent = models.CharField(
        _("colour"),
        max_length=7,
        default=DEFAULT_ACCENT,
        validators=[_ACCENT],
        help_text=_("For buttons and links, such as #0f766e. Adjusted for contrast where needed."),
    )
    return_addresses = ListField(
        ReturnAddressField(max_length=RETURN_ADDRESS_MAX_LENGTH),
        verbose_name=_("return URLs"),
        most=MAX_RETURN_ADDRESSES,
        help_text=_(
            "URLs the page may return to, such as https://shop.example/verified. The return_to of a link must"
            " match one of them exactly."
        ),
    )
    hand_over = models.CharField(
        _("verify token"),
        max_length=8,
        choices=HandOver.choices,
        default=HandOver.FORM,
        help_text=_("How the token is returned. Never in the query string, which would end up in logs."),
    )
    logo = models.BinaryField(
        _("logo"), null=True, editable=False, help_text=_("A PNG, re-encoded so that it contains only the image.")
    )
    key = models.OneToOneField(
        ApiKey, verbose_name=_("key"), null=True, on_delete=models.SET_NULL, editable=False, related_name="+"
    )
    key_text = models.CharField(_("key text"), max_length=80, blank=True, editable=False)

    class Meta:
        verbose_name = _("hosted page")
        verbose_name_plural = _("hosted pages")
        constraints = (
            models.CheckConstraint(
                name="hosted_page_on_has_addresses", condition=Q(is_enabled=False) | ~Q(return_addresses=[])
            ),
            models.CheckConstraint(name="hosted_page_hand_over", condition=Q(hand_over__in=HandOver.values)),
        )

    def __str__(self) -> str:
        return gettext("Hosted page of {project}").format(project=self.project)

    def clean(self) -> None:
        if self.is_enabled and not self.return_addresses:
            raise ValidationError(
                {"return_addresses": gettext("The page needs a return URL before it can be turned on.")}
            )

    @property
    def name(self) -> str:
        return self.title or self.project.name
