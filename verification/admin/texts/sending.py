"""A real message with the text that goes out now, to the user's own number or address."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from verification.admin.auth import form_tokens
from verification.admin.texts.editor import about_of, links_of
from verification.admin.texts.matrix import language_name
from verification.admin.traffic.kill_switches import ON_ITS_WAY, RecipientForm, first_address, followed, send
from verification.models import ChannelType


def send_view(request: HttpRequest, model_admin: Any) -> HttpResponse:
    """Ask for the recipient, send, and go on to the message's page, which tells what becomes of it."""
    about = about_of(request, request.GET)
    if about is None:
        raise Http404
    project, channel, language = about["project"], about["channel"], about["language"]
    form = RecipientForm(request.POST if "to" in request.POST else None, initial=first_address(request, channel))
    if form.is_valid():
        if why := form_tokens.spend(request):
            model_admin.message_user(request, why, messages.WARNING)
            return HttpResponseRedirect(request.get_full_path())
        done = gettext_noop("Sent a text to themselves")
        if number := send(form, project, channel, row=project, done=done, language=language):
            model_admin.message_user(request, ON_ITS_WAY)
            return HttpResponseRedirect(followed(number))
    response: HttpResponse = model_admin.ask(
        request,
        _("Send to me: {channel}, {language}").format(
            channel=ChannelType(channel).label, language=language_name(language)
        ),
        intro=_(
            "A real message with a code that opens nothing, in the text that is saved. It costs what a message costs"
            " and counts in the limits of its recipient."
        ),
        submit=_("Send"),
        form=form,
        back=links_of(about)["all"],
        acts_once=True,
    )
    return response
