"""The editor of one text: while it is typed, it shows how the text arrives, its size and its faults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from unfold.widgets import UnfoldAdminTextareaWidget

from verification.admin.auth.reauthentication import skip_reauthentication
from verification.admin.base.permissions import own_projects
from verification.core.errors import UserError
from verification.core.numbers import whole_number
from verification.models import ChannelType, MessageTemplate, Project, Right
from verification.models.fields import clean_language
from verification.services.providers.text_prices import Thousand, per_thousand
from verification.services.texts import own, speech
from verification.services.texts.rendering import RIGHT_TO_LEFT, Rendered
from verification.services.texts.sizes import Size, alphabet, measure

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

MAX_TYPED = 4_000  # characters of a text that are previewed: several times what can be saved


@dataclass(frozen=True, slots=True)
class TextPreview:
    """One text as it arrives, with its size, faults, advice and prices."""

    project: Project
    channel: str
    language: str
    rendered: Rendered
    recording: str = ""  # the address of a call's words, spoken
    size: Size | None = None  # of an SMS
    faults: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    prices: list[Thousand] = field(default_factory=list)

    @property
    def direction(self) -> str:
        return "rtl" if self.language.partition("-")[0] in RIGHT_TO_LEFT else "ltr"

    @property
    def words(self) -> SafeString:
        """The text with its costly characters marked, and a line where the next SMS begins."""
        if self.size is None:
            return format_html("{}", self.rendered.text)
        pieces = (
            _mark_costly(part, set(self.size.remedies), number) for number, part in enumerate(self.size.parts, start=1)
        )
        return format_html_join("", "{}", ((piece,) for piece in pieces))

    @property
    def facts(self) -> dict[str, Any]:
        """The values that the script counts by, and the address where it asks for the rest."""
        facts = {
            "project": self.project.pk,
            "channel": self.channel,
            "language": self.language,
            "address": preview_address(),
        }
        if self.size is None:
            return facts
        values, tail = own.sample_values(self.project), own.sms_tail(self.project)
        return {**facts, "values": values, "tail": tail, "alphabet": alphabet()}


def preview_of(*, project: Project, channel: str, language: str, text: str, subject: str = "") -> TextPreview:
    """Return the preview of a text. An empty one stands for ours."""
    rendered = own.preview(project=project, channel=channel, language=language, text=text, subject=subject)
    faults, advice = [], []
    if text:
        faults = own.faults(project=project, channel=channel, text=text, subject=subject)
        advice = own.advice(project=project, channel=channel, text=text)
    size = measure(rendered.text) if channel == ChannelType.SMS else None
    prices = per_thousand(project, channel, size.segments if size else 1)
    recording = "" if faults else recording_address(project, channel, language, text)
    return TextPreview(project, channel, language, rendered, recording, size, faults, advice, prices)


class EditorWidget(UnfoldAdminTextareaWidget):
    """The field of a text, with the message beside it. ``about`` names its project, channel, language and subject."""

    template_name = "admin/verification/messagetemplate/editor.html"

    def __init__(self, attrs: dict[str, Any] | None = None) -> None:
        super().__init__({"rows": 6, "class": "ww-lines", "dir": "auto", **(attrs or {})})
        self.about: dict[str, Any] | None = None
        self.has_links = True
        self.own_text: MessageTemplate | None = None  # the row that goes if ours is to go out again

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context(name, value, attrs)
        preview = preview_of(**self.about, text=str(value or "")[:MAX_TYPED]) if self.about else None
        if preview:  # a text may begin with {code}, by which a browser would take it for one from left to right
            context["widget"]["attrs"]["dir"] = preview.direction
        facts = preview.facts if preview else {"address": preview_address()}
        links = links_of(self.about) if self.about and self.has_links else {}
        if links and self.own_text:
            links["default"] = reverse("admin:verification_messagetemplate_delete", args=(self.own_text.pk,))
        return {**context, "preview": preview, "facts": facts, "query": _query(self.about), "links": links}

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """Render by the project's templates: Django's renderer of forms knows none of ours."""
        return render_to_string(self.template_name, self.get_context(name, value, attrs))


@skip_reauthentication
def preview_view(request: HttpRequest, model_admin: Any) -> HttpResponse:
    """Show what was typed, as a part of the editor for its script, and as a page for a browser without one."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    preview = None
    about = about_of(request, request.POST) or about_of(request, request.GET)
    if about:
        text = request.POST.get("text", "").replace("\r\n", "\n")[:MAX_TYPED]
        subject = request.POST.get("subject", "")[:MAX_TYPED] if about["channel"] == ChannelType.EMAIL else ""
        preview = preview_of(**{**about, "subject": subject}, text=text)
    context = {"preview": preview, "facts": preview.facts if preview else {"address": preview_address()}}
    if request.headers.get("X-Fragment"):
        return TemplateResponse(request, "admin/verification/messagetemplate/live.html", context)
    context = model_admin.page_context(request, _("Preview of a text"), **context)
    return TemplateResponse(request, "admin/verification/messagetemplate/preview.html", context)


def recording_view(request: HttpRequest, model_admin: Any) -> HttpResponse:
    """Answer with the words of a call as a standard voice speaks them, with a sample code."""
    about = about_of(request, request.GET)
    text = request.GET.get("text", "")
    if about is None or about["channel"] != ChannelType.VOICE or len(text) > own.MAX_CHARACTERS:
        raise Http404
    rendered = own.preview(**about, text=text)
    try:
        recorded = speech.speak(rendered.text, about["language"])
    except UserError as error:
        return HttpResponse(str(error), status=503, content_type="text/plain; charset=utf-8")
    return HttpResponse(recorded, content_type="audio/wav")


def recording_address(project: Project, channel: str, language: str, text: str) -> str:
    """Return where the words of a call are spoken; empty where this server has no voice for the language."""
    if channel != ChannelType.VOICE or not speech.voice_of(language):
        return ""
    named = {"project": project.pk, "channel": channel, "language": language, "text": text}
    return reverse("admin:verification_text_recording", query=named)


def about_of(request: HttpRequest, values: Any, right: Right = Right.CHANGE) -> dict[str, Any] | None:
    """Return the project, the channel and the language that a form names; None where one is missing.

    A project in which the user has no such right is missing, too.
    """
    project_id = whole_number(str(values.get("project", "")))
    channel, language = values.get("channel", ""), values.get("language", "")
    if project_id is None or channel not in ChannelType.values or channel in own.VENDOR_WORDED:
        return None
    try:
        language = own.canonical_language(clean_language(language))
    except UserError:
        return None
    project = own_projects(request.user, right).filter(pk=project_id).first()
    return {"project": project, "channel": channel, "language": language} if project else None


# Further links beside a text, added by apps when the pages are loaded: the words, and the page's name.
MORE_LINKS: list[tuple[StrOrPromise, str]] = []


def links_of(about: dict[str, Any]) -> dict[str, Any]:
    """Return the addresses of what can be done with this project's text of this channel and language."""
    named = {"project": about["project"].pk, "channel": about["channel"], "language": about["language"]}
    return {
        "all": reverse("admin:verification_messagetemplate_changelist", query={"project": named["project"]}),
        "more": [(words, reverse(name, query=named)) for words, name in MORE_LINKS],
        "send": reverse("admin:verification_text_send", query=named),
    }


def preview_address() -> str:
    return reverse("admin:verification_text_preview")


def _query(about: dict[str, Any] | None) -> str:
    """Return the preview's address for a browser without scripts, whose form may lack what is fixed."""
    if not about:
        return preview_address()
    named = {"project": about["project"].pk, "channel": about["channel"], "language": about["language"]}
    return reverse("admin:verification_text_preview", query=named)


def _mark_costly(part: str, costly: set[str], number: int) -> SafeString:
    begin = format_html('<span class="ww-next-sms">SMS {}</span>', number) if number > 1 else ""
    pieces, plain = [], ""
    for character in part:
        if character in costly:
            pieces += [format_html("{}", plain), format_html("<mark>{}</mark>", character)]
            plain = ""
        else:
            plain += character
    return format_html("{}{}", begin, format_html_join("", "{}", ((each,) for each in [*pieces, plain])))
