"""A real message with the text that goes out now, to the user's own number or address."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from unfold.widgets import UnfoldAdminTextInputWidget

from verification.addresses import AddressInvalid, mask, parse_address
from verification.errors import Refusal
from verification.models import ChannelType
from verification.panel.door import once
from verification.panel.pages.texts.editor import about_of, links_of
from verification.panel.pages.texts.matrix import language_name
from verification.services.manual.messages import send_message
from verification.services.projects.snapshot import load_project
from verification.services.records import audit

ADDRESS_MAX_LENGTH = 254  # characters of the longest e-mail address (RFC 5321)


class RecipientForm(forms.Form):
    to = forms.CharField(
        label="To",
        max_length=ADDRESS_MAX_LENGTH,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
        help_text="Your own number with its country code, or your e-mail address.",
    )


def send_view(request: HttpRequest, model_admin: Any) -> HttpResponse:
    """Ask for the recipient, send, and go on to the message's page, which tells what becomes of it."""
    about = about_of(request, request.GET)
    if about is None:
        raise Http404
    is_mail = about["channel"] == ChannelType.EMAIL
    initial = {"to": getattr(request.user, "email", "")} if is_mail else {}
    form = RecipientForm(request.POST if "to" in request.POST else None, initial=initial)
    if form.is_valid():
        if why := once.spend(request):
            model_admin.message_user(request, why, messages.WARNING)
            return HttpResponseRedirect(request.get_full_path())
        if number := _send(form, about):
            model_admin.message_user(request, "The message is on its way. Its page tells what becomes of it.")
            return HttpResponseRedirect(reverse("admin:verification_message_change", args=(number,)))
    response: HttpResponse = model_admin.ask(
        request,
        f"Send to me: {ChannelType(about['channel']).label}, {language_name(about['language'])}",
        intro="A real message with a code that opens nothing, in the text that is saved. It costs what a message costs"
        " and counts in the limits of its recipient.",
        submit="Send",
        form=form,
        back=links_of(about)["all"],
        acts_once=True,
    )
    return response


def _send(form: RecipientForm, about: dict[str, Any]) -> int | None:
    """Queue the message and return its id; None where it is refused, with the reason in the form."""
    project = load_project(about["project"].pk)
    if project is None:
        form.add_error("to", "The project is disabled, so nothing of it is sent. Enable it first.")
        return None
    try:
        address = parse_address(form.cleaned_data["to"], test_addresses=project.test_logins)
        sent = send_message(
            project=project,
            address=address,
            channel_type=about["channel"],
            provider_id=None,
            code=None,
            callback_url="",
            language=about["language"],
        )
    except AddressInvalid as error:
        form.add_error("to", str(error))
        return None
    except Refusal as error:
        again = f" Try again in {error.retry_after} s." if error.retry_after else ""
        form.add_error("to", f"{error.detail}{again}")
        return None
    to = mask(address.text)
    audit.record(f"Sent a text to themselves, {to}", row=about["project"], project=about["project"], label=to)
    return sent.message_id
