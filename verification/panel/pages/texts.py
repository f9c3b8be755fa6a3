"""A project's own message texts, judged before they are saved and shown as they arrive."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from verification.errors import Misuse
from verification.models import ChannelType, MessageTemplate
from verification.panel.frame.display import channel as show_channel
from verification.panel.frame.display import label, shortened
from verification.panel.frame.page import ScopedAdmin
from verification.panel.frame.scoping import ProjectFilter, Who
from verification.services.texts import own
from verification.services.texts.rendering import languages

CHANNELS = [choice for choice in ChannelType.choices if choice[0] not in own.VENDOR_WORDED]


class SuggestingInput(UnfoldAdminTextInputWidget):
    """Free text that offers the languages there are texts in."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        field = super().render(name, value, {**(attrs or {}), "list": "languages", "autocomplete": "off"}, renderer)
        options = format_html_join("", '<option value="{}"></option>', ((each,) for each in languages()))
        return format_html('{}<datalist id="languages">{}</datalist>', field, options)


class TextForm(forms.ModelForm):  # type: ignore[type-arg]  # not generic at run time
    class Meta:
        widgets = {
            "language": SuggestingInput,
            "text": UnfoldAdminTextareaWidget(attrs={"rows": 6, "class": "ww-lines"}),
        }
        labels = {"text": "Text"}
        help_texts = {
            "channel": "The wording on WhatsApp is the platform's own, so there is no text for it.",
            "language": "As in de or pt-BR. A text in de also serves de-AT, unless that has its own.",
            "subject": "For e-mail only. Empty means ours.",
            "text": "Placeholders: {code}, which must be in it; {project}, the project's name; {minutes}, how long the"
            " code is still valid. Links may lead to the project's site only.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "channel" in self.fields:
            field = self.fields["channel"]
            assert isinstance(field, forms.ChoiceField)
            field.choices = CHANNELS

    def clean_language(self) -> str:
        """Return the writing that the texts are looked up by."""
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
        if self.instance.pk is None:
            try:
                own.require_room(project)
            except Misuse as error:
                self.add_error(None, str(error))
        if text := values.get("text"):
            self.instance.text = text  # for the preview, also where it is refused
            for fault in own.faults(project=project, channel=channel, text=text):
                self.add_error("text", fault)
        if subject := values.get("subject"):
            for fault in own.faults(project=project, channel=channel, text="{code}", subject=subject):
                self.add_error("subject", fault)
        return values


@admin.register(MessageTemplate)
class TextAdmin(ScopedAdmin):
    adders = changers = deleters = Who.MEMBERS
    form = TextForm
    list_display = ("shown_language", "shown_channel", "project", "beginning", "size")
    list_filter = (ProjectFilter, "channel")
    list_select_related = ("project",)
    list_before_template = "admin/verification/messagetemplate/intro.html"
    ordering = ("project__name", "channel", "language")

    def get_fieldsets(self, request: HttpRequest, obj: MessageTemplate | None = None) -> Any:
        if obj is None:
            return ((None, {"fields": ("project", "channel", "language", "subject", "text")}),)
        subject = ("subject",) if obj.channel == ChannelType.EMAIL else ()
        size = ("size",) if obj.channel == ChannelType.SMS else ()
        return (
            (None, {"fields": ("project", "shown_channel", "shown_language", *subject, "text")}),
            ("As it arrives", {"fields": (*size, "preview")}),
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("project", "shown_channel", "shown_language", "size", "preview") if obj else ()

    def response_add(
        self, request: HttpRequest, obj: MessageTemplate, post_url_continue: str | None = None
    ) -> HttpResponse:
        """Go on to the text's page, which shows it as it arrives."""
        self.message_user(request, "The text is saved and goes out from now on. Below you see how it arrives.")
        return HttpResponseRedirect(reverse("admin:verification_messagetemplate_change", args=(obj.pk,)))

    @admin.display(description="Language", ordering="language")
    def shown_language(self, row: MessageTemplate) -> str:
        return row.language

    @admin.display(description="Channel", ordering="channel")
    def shown_channel(self, row: MessageTemplate) -> str:
        return show_channel(row.channel)

    @admin.display(description="Text")
    def beginning(self, row: MessageTemplate) -> str:
        return shortened(row.text, 70)

    @admin.display(description="Size")
    def size(self, row: MessageTemplate) -> str:
        if row.channel != ChannelType.SMS:
            return "–"
        number = own.sms_segments(row.project, row.text)
        return label(f"{number} SMS", "success" if number == 1 else "warning")

    @admin.display(description="Preview")
    def preview(self, row: MessageTemplate) -> str:
        """Show the text with a sample code; after a refusal, the text that was typed."""
        shown = own.preview(
            project=row.project, channel=row.channel, language=row.language, text=row.text, subject=row.subject
        )
        subject = format_html('<p class="ww-subject">{}</p>', shown.subject) if shown.subject else ""
        return format_html('<div class="ww-preview" dir="auto">{}<p class="ww-text">{}</p></div>', subject, shown.text)
