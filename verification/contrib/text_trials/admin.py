"""The page on which a second text is tried against the present one: its start, what came of both, and its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminTextInputWidget

from verification.admin.base.display import format_time
from verification.admin.texts.editor import MORE_LINKS, EditorWidget, about_of, links_of, preview_of
from verification.admin.texts.page import TextAdmin
from verification.contrib.text_trials import trials
from verification.contrib.text_trials.comparison import MIN_SESSIONS, compare
from verification.core.errors import UserError
from verification.core.formats import language_in_sentence
from verification.models import ChannelType, MessageTemplate, Project, Right, TextVariant
from verification.models.texts import MAX_SHARE, MIN_SHARE
from verification.services.texts import own

PAGE = "verification_text_variant"
USUAL_SHARE = 50  # percent: two equal halves tell the texts apart soonest.
NOT_YET = format_lazy(
    gettext_lazy("Not enough data yet: each text needs {min_sessions} sessions."),
    min_sessions=MIN_SESSIONS,
)


class VariantForm(forms.Form):
    """The text to try. ``about`` names the project, channel and language."""

    subject = forms.CharField(
        label=gettext_lazy("Subject"),
        max_length=200,
        required=False,
        widget=UnfoldAdminTextInputWidget,
        help_text=gettext_lazy("Leave empty for the default."),
    )
    text = forms.CharField(label=gettext_lazy("Text"), max_length=1_000, widget=EditorWidget, strip=False)
    share = forms.IntegerField(
        label=gettext_lazy("Share"),
        min_value=MIN_SHARE,
        max_value=MAX_SHARE,
        initial=USUAL_SHARE,
        widget=UnfoldAdminIntegerFieldWidget,
        help_text=gettext_lazy("Percentage of sessions that get the new text. 50 gives the fastest result."),
    )

    def __init__(self, *args: Any, about: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if about["channel"] != ChannelType.EMAIL:
            del self.fields["subject"]
        widget = self.fields["text"].widget
        assert isinstance(widget, EditorWidget)
        widget.has_links = False
        widget.about = {**about, "subject": str((self.data if self.is_bound else self.initial).get("subject", ""))}

    def clean_text(self) -> str:
        text: str = self.cleaned_data["text"]
        return text.replace("\r\n", "\n")


def trial_view(request: HttpRequest, model_admin: Any) -> HttpResponse:
    about = about_of(request, request.GET, Right.SEE if request.method == "GET" else Right.CHANGE)
    if about is None:
        raise Http404
    running = trials.find(**about)
    may_change = about_of(request, request.GET) is not None
    if running is None and not may_change:
        raise Http404
    if running and request.method == "POST" and "end" in request.POST:
        return _end(request, model_admin, running)
    return _show(request, model_admin, about, running, may_change) if running else _start(request, model_admin, about)


def _start(request: HttpRequest, model_admin: Any, about: dict[str, Any]) -> HttpResponse:
    present = own.present(**about)
    initial = {"text": present.text, "subject": present.subject}
    form = VariantForm(request.POST if "text" in request.POST else None, initial=initial, about=about)
    if form.is_valid():
        try:
            trials.start(**about, **form.cleaned_data)
        except UserError as error:
            form.add_error("text", str(error))
        else:
            model_admin.message_user(
                request, _("The A/B test is running. Results appear within minutes of the first sessions.")
            )
            return HttpResponseRedirect(request.get_full_path())
    response: HttpResponse = model_admin.ask(
        request,
        _("A/B test: {name}").format(name=_name(about)),
        intro=_(
            "Find out which of two texts leads to more verified users. Each session gets one of them at "
            "random. The current text cannot be changed during the test."
        ),
        submit=_("Start A/B test"),
        form=form,
        back=links_of(about)["all"],
    )
    return response


def _show(
    request: HttpRequest, model_admin: Any, about: dict[str, Any], running: TextVariant, may_change: bool
) -> HttpResponse:
    present, tried = trials.arms(running)
    words = own.present(**about)
    difference = compare(present, tried)
    previews = [
        preview_of(**about, text=words.text, subject=words.subject),
        preview_of(**about, text=running.text, subject=running.subject),
    ]
    prices = previews[0].prices if previews[0].prices == previews[1].prices else []
    if prices:  # of both texts: shown once, below them
        previews = [replace(each, prices=[]) for each in previews]
    context = model_admin.page_context(
        request,
        _("A/B test: {name}").format(name=_name(about)),
        running=running,
        since=format_time(running.since),
        back=links_of(about)["all"],
        sides=[
            (_("Current text"), 100 - running.share, present, previews[0]),
            (_("New text"), running.share, tried, previews[1]),
        ],
        prices=prices,
        difference=difference,
        verdict=_conclusion(difference),
        may_change=may_change,
    )
    return TemplateResponse(request, "admin/verification/messagetemplate/variant.html", context)


def _conclusion(difference: Any) -> tuple[str, str]:
    """Return the state and the sentence about it."""
    if difference is None:
        return "plain", str(NOT_YET)
    if difference.is_better:
        return "good", _("The new text converts better.")
    if difference.is_worse:
        return "bad", _("The new text converts worse.")
    return "plain", _("No significant difference yet.")


def _end(request: HttpRequest, model_admin: Any, running: TextVariant) -> HttpResponse:
    is_taken = request.POST["end"] == "take"
    try:
        trials.end(running, is_taken=is_taken)
    except UserError as error:
        model_admin.message_user(request, str(error), "warning")
        return HttpResponseRedirect(request.get_full_path())
    said = _("The new text is used from now on.") if is_taken else _("The current text is kept.")
    model_admin.message_user(request, _("The A/B test has ended. {said}").format(said=said))
    about = {"project": running.project, "channel": running.channel, "language": running.language}
    return HttpResponseRedirect(links_of(about)["all"])


def _name(about: dict[str, Any]) -> str:
    return f"{ChannelType(about['channel']).label}, {language_in_sentence(about['language'])}"


class WithTrials(TextAdmin):
    """The pages of texts, with the trials of them."""

    def get_custom_urls(self) -> tuple[tuple[str, str, Callable[..., HttpResponse]], ...]:
        return (*super().get_custom_urls(), ("variant/", PAGE, trial_view))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Keep the text while another one is tried against it."""
        if isinstance(obj, MessageTemplate) and trials.is_tried(obj.project, obj.channel, obj.language):
            return False
        return super().has_delete_permission(request, obj)

    def trials_of(self, project: Project) -> dict[tuple[str, str], str]:
        return {
            (channel, language): reverse(
                f"admin:{PAGE}", query={"project": project.pk, "channel": channel, "language": language}
            )
            for channel, language in project.text_variants.values_list("channel", "language")
        }


MORE_LINKS.append((gettext_lazy("Start an A/B test"), f"admin:{PAGE}"))
admin.site.unregister(MessageTemplate)
admin.site.register(MessageTemplate, WithTrials)
