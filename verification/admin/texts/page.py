"""A project's own message texts: checked before they are saved, with a preview of how they arrive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.admin.base.columns import ChannelColumn, LanguageColumn
from verification.admin.base.current_project import current_projects, follow_address
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.permissions import own_project_ids
from verification.admin.texts.editor import EditorWidget, about_of, preview_view, recording_view
from verification.admin.texts.matrix import matrix_of
from verification.admin.traffic.send_test import send_text_view
from verification.core.errors import UserError
from verification.models import ChannelType, MessageTemplate, Project, Right
from verification.services.texts import own

CHANNELS = [choice for choice in ChannelType.choices if choice[0] not in own.VENDOR_WORDED]


class TextForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    """The form of one text. ``asked_by`` is the request that shows it, whose user's projects alone are previewed."""

    asked_by: HttpRequest

    class Meta:
        widgets = {"text": EditorWidget}
        labels = {"text": gettext_lazy("Text")}
        help_texts = {
            "channel": gettext_lazy("WhatsApp sets the wording itself, so there is no text to edit."),
            "language": gettext_lazy(
                "Such as de or pt-BR. A text in de is also used for de-AT, unless de-AT has its own."
            ),
            "subject": gettext_lazy("For e-mail only. Leave empty for the default."),
            "text": gettext_lazy(
                "Must contain {code}. {project} is the project's name, {minutes} the number of minutes "
                "the code remains valid. Links may only point to the project's site."
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "channel" in self.fields:
            field = self.fields["channel"]
            assert isinstance(field, forms.ChoiceField)
            field.choices = CHANNELS
        if "text" not in self.fields:  # for those who may only read it
            return
        widget = self.fields["text"].widget
        assert isinstance(widget, EditorWidget)
        widget.about = self._about()
        widget.own_text = self.instance if self.instance.pk else None

    def _about(self) -> dict[str, Any] | None:
        """Return what the text is for, as far as it is known: of a new one by what was chosen."""
        values = self.data if self.is_bound else self.initial
        subject = {"subject": str(values.get("subject", ""))}
        if self.instance.pk:
            row = self.instance
            return {"project": row.project, "channel": row.channel, "language": row.language, **subject}
        about = about_of(self.asked_by, values)
        return about and {**about, **(subject if about["channel"] == ChannelType.EMAIL else {"subject": ""})}

    def clean_language(self) -> str:
        """Return the language as the texts are stored under it."""
        return own.canonical_language(self.cleaned_data["language"])

    def clean_text(self) -> str:
        text: str = self.cleaned_data["text"]
        return text.replace("\r\n", "\n")  # browsers send both, and the first is a control character

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        project = values.get("project") or getattr(self.instance, "project", None)
        channel = values.get("channel") or self.instance.channel
        if channel != ChannelType.EMAIL:
            values["subject"] = ""
        if project is None or not channel:
            return values
        try:
            if self.instance.pk is None:
                own.require_room(project)
            own.require_changeable(project, channel, values.get("language") or self.instance.language)
        except UserError as error:
            self.add_error(None, str(error))
        if text := values.get("text"):
            for fault in own.faults(project=project, channel=channel, text=text):
                self.add_error("text", fault)
        if subject := values.get("subject"):
            for fault in own.faults(project=project, channel=channel, text="{code}", subject=subject):
                self.add_error("subject", fault)
        return values


@admin.register(MessageTemplate)
class TextAdmin(ChannelColumn, LanguageColumn, ScopedAdmin):
    adders = changers = deleters = Right.CHANGE
    deleted_along = gettext_lazy("; the default text is sent instead")
    form = TextForm
    form_intro = gettext_lazy("What users read on this channel in this language. The preview shows it as it arrives.")
    change_form_outer_before_template = "admin/verification/form_intro.html"
    change_list_template = "admin/verification/messagetemplate/texts.html"
    list_display = ("language_code", "channel_label", "project")
    list_filter = ("channel",)
    list_select_related = ("project",)
    ordering = ("project__name", "channel", "language")

    def get_custom_urls(self) -> tuple[tuple[str, str, Callable[..., HttpResponse]], ...]:
        return (
            ("preview/", "verification_text_preview", preview_view),
            ("recording/", "verification_text_recording", recording_view),
            ("send/", "verification_text_send", send_text_view),
        )

    def trials_of(self, project: Project) -> dict[tuple[str, str], str]:
        """Return the addresses of what an app tries, by channel and language."""
        return {}

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Show all texts of one project, by default of the first by name, in place of a list of rows."""
        if redirect := follow_address(request):
            return redirect
        chosen = current_projects(request).order_by("name").first()
        matrix = matrix_of(chosen, self.trials_of(chosen)) if chosen else None
        may_change = bool(chosen and chosen.pk in own_project_ids(request, Right.CHANGE))
        context = {"matrix": matrix, "may_change": may_change}
        return super().changelist_view(request, {**context, **(extra_context or {})})

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form_class = super().get_form(request, obj, change=change, **kwargs)
        form_class.asked_by = request
        return form_class

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Begin with our text, where the address says which: few owners want to write one from nothing."""
        initial: dict[str, Any] = super().get_changeform_initial_data(request)
        if about := about_of(request, request.GET):
            initial.setdefault("text", own.ours(about["channel"], about["language"]).text)
        return initial

    def get_fieldsets(self, request: HttpRequest, obj: MessageTemplate | None = None) -> Any:
        if obj is None:
            about = about_of(request, request.GET)
            subject = ("subject",) if not about or about["channel"] == ChannelType.EMAIL else ()
            return ((None, {"fields": ("project", "channel", "language", *subject, "text")}),)
        subject = ("subject",) if obj.channel == ChannelType.EMAIL else ()
        return ((None, {"fields": ("project", "channel_label", "language_label", *subject, "text")}),)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("project", "channel_label", "language_label") if obj else ()

    def response_add(
        self, request: HttpRequest, obj: MessageTemplate, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Go on to the text's page, which shows it as it arrives."""
        self.message_user(request, _("Saved. The text is now in use; the preview shows how it arrives."))
        return HttpResponseRedirect(reverse("admin:verification_messagetemplate_change", args=(obj.pk,)))

    @admin.display(description=gettext_lazy("Language"), ordering="language")
    def language_code(self, row: MessageTemplate) -> str:
        return row.language
