"""The form of a project: its settings as the model declares them, and the secret that is typed in anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminPasswordWidget

from verification.admin.projects.presets import apply_chosen, preset_field
from verification.core.errors import UserError
from verification.models import Project
from verification.models.project_settings import SECRETS
from verification.services.projects.projects import require_free_name
from verification.services.projects.settings import faults, faults_of_opening, seal_secret

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MAX_SECRET_LENGTH = 8_000  # characters: a private key of 8,192 bits has 6,400


def _secret_field(label: StrOrPromise) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=MAX_SECRET_LENGTH,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text=_("It is stored encrypted and not shown again. Leave empty to keep the stored value."),
    )


class ProjectForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    new_challenge_secret = forms.CharField(
        label=_("Secret"),
        required=False,
        max_length=200,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text=_(
            "From your account with the challenge provider; not needed for ALTCHA. It is stored encrypted and"
            " not shown again. Leave empty to keep the stored value."
        ),
    )

    new_risk_twilio_secret = _secret_field(_("Twilio secret"))
    new_risk_vonage_key = _secret_field(_("Vonage private key"))
    new_risk_camara_secret = _secret_field(_("CAMARA secret"))

    preset = preset_field()

    has_presets = False  # whether the section is that of the presets
    sees_addresses = False  # whether the user sees whole recipients in this project
    neighbours: QuerySet[Project] = Project.objects.none()  # what the user sees, among which names are told apart

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in SECRETS:
            if f"new_{name}" not in (self._meta.fields or ()):  # of another section
                del self.fields[f"new_{name}"]
        if not self.has_presets:
            del self.fields["preset"]

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        try:
            require_free_name(name, among=self.neighbours, but=self.instance)
        except UserError as error:
            raise forms.ValidationError(str(error)) from None
        return name

    def clean(self) -> dict[str, Any]:
        cleaned_data: dict[str, Any] = super().clean() or self.cleaned_data
        for name in SECRETS:
            if secret := cleaned_data.get(f"new_{name}"):
                setattr(self.instance, name, seal_secret(self.instance, name, secret))
        apply_chosen(self, cleaned_data)
        return cleaned_data

    def _post_clean(self) -> None:
        """Judge the row when it has its new values."""
        super()._post_clean()  # type: ignore[misc]  # Django's, but not in the stubs
        changed = [name.removeprefix("new_") for name in self.changed_data]
        found = faults(self.instance, changed)
        if not self.sees_addresses:
            found |= faults_of_opening(self.instance, changed)
        for name, text in found.items():
            field = f"new_{name}" if name in SECRETS else name
            if field in self.fields and field not in self.errors:  # another section's has an error of its own
                self.add_error(field, text)
