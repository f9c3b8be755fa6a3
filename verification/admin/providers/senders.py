"""Another sender for the numbers of a country, on the page of the provider."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.admin.base.permissions import ScopedInline
from verification.models import ChannelType, Right, SenderRule
from verification.models.bounds import MAX_SENDERS

CHANNELS = (ChannelType.SMS, ChannelType.VOICE)  # elsewhere the account is the sender


class SenderRuleForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    class Meta:
        help_texts = {
            "sender": gettext_lazy("A number or name registered in that country. Leave empty for the default."),
            "dlt_entity_id": gettext_lazy("Required by operators in India."),
            "dlt_template_id": gettext_lazy("Required by operators in India."),
        }

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if not any(values.get(name) for name in ("sender", "dlt_entity_id", "dlt_template_id")):
            self.add_error("sender", _("Enter a sender or DLT IDs, or remove the line."))
        return values


class SenderRuleInline(ScopedInline):
    model = SenderRule
    project_path = "provider__project"
    adders = changers = deleters = Right.CHANGE
    form = SenderRuleForm
    fields = ("prefix", "sender", "dlt_entity_id", "dlt_template_id")
    max_num = MAX_SENDERS
    add_text = gettext_lazy("Add a sender")
    verbose_name: Any = gettext_lazy("sender")
    verbose_name_plural: Any = gettext_lazy("senders by country")

    def get_formset(self, request: HttpRequest, obj: Any = None, **kwargs: Any) -> Any:
        """Return the formset. The maximum is also enforced on submit: Django itself only hides further lines."""
        return super().get_formset(request, obj, validate_max=True, **kwargs)
