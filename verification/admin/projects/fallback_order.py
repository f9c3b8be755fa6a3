"""A project's order of fall-back, on its page."""

from __future__ import annotations

from typing import Any

from django import forms
from django.forms.models import BaseInlineFormSet
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from verification.admin.base.permissions import ScopedInline
from verification.models import ChannelType, FallbackStep, Right
from verification.models.channels import MAX_FALLBACK_WAIT_SECONDS, MIN_FALLBACK_WAIT_SECONDS


class FallbackForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    channel = forms.ChoiceField(
        choices=[("", "–"), *ChannelType.phone_choices()],  # an e-mail address has no other way
        widget=UnfoldAdminSelectWidget,
    )
    wait_seconds = forms.IntegerField(
        label=_("Wait, in seconds"),
        help_text=_("How long a receipt is waited for before the code goes out over the next channel."),
        min_value=MIN_FALLBACK_WAIT_SECONDS,
        max_value=MAX_FALLBACK_WAIT_SECONDS,
        initial=30,
        widget=UnfoldAdminIntegerFieldWidget,
    )


class FallbackFormSet(BaseInlineFormSet):  # type: ignore[type-arg]  # as above
    def get_form_kwargs(self, index: int | None) -> dict[str, Any]:
        """A new channel comes last."""
        kwargs: dict[str, Any] = super().get_form_kwargs(index)
        if index is None or index >= self.initial_form_count():
            last = max((step.position for step in self.get_queryset()), default=0)
            kwargs["initial"] = {"position": last + 1}
        return kwargs


class FallbackInline(ScopedInline):
    model = FallbackStep
    adders = changers = deleters = Right.CHANGE
    form = FallbackForm
    formset = FallbackFormSet
    fields = ("position", "channel", "wait_seconds")
    verbose_name: Any = _("channel")
    verbose_name_plural: Any = _("fall-back order")
    intro: Any = _(
        "When a code does not arrive, the same code goes out over the next channel of this list that has not been"
        " tried; the lowest position comes first. Each line says how long the receipt of its channel is waited for."
        " With no list, nothing falls back."
    )
    template_before = "admin/verification/inline_intro.html"
    tab = True
