"""A real message to the user's own number or address, sent by hand from the pages of texts, providers and channels."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from unfold.decorators import action
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from verification.admin.auth import form_tokens
from verification.admin.base.current_project import current_project_id
from verification.admin.base.display import page_address
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.permissions import own_projects
from verification.admin.texts.editor import about_of, links_of
from verification.core.addresses import AddressInvalid, mask
from verification.core.errors import ApiError, FieldsInvalid
from verification.core.formats import language_in_sentence
from verification.models import Channel, ChannelType, Project, Provider, Right
from verification.services.manual.messages import send_message
from verification.services.projects.snapshot import load_project
from verification.services.records import audit

ADDRESS_MAX_LENGTH = 254  # characters of the longest e-mail address (RFC 5321)
LIVE = "live"  # in the address of a message's page that follows the message
ON_ITS_WAY = gettext_lazy("The message is being sent. Its page shows what happens to it.")


class RecipientForm(forms.Form):
    to = forms.CharField(
        label=gettext_lazy("Recipient"),
        max_length=ADDRESS_MAX_LENGTH,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "off"}),
    )

    def __init__(self, channel: str, data: Any = None, **options: Any) -> None:
        super().__init__(data, **options)
        is_email = channel == ChannelType.EMAIL
        self.fields["to"].help_text = (
            _("Your e-mail address.") if is_email else _("Your own phone number, with its country code.")
        )


class RecipientAndProjectForm(RecipientForm):
    """The form for a system provider, which serves every project: it asks for which one the test goes out."""

    project = forms.ModelChoiceField(
        label=gettext_lazy("For the project"),
        queryset=Project.objects.none(),
        widget=UnfoldAdminSelectWidget,
        help_text=gettext_lazy("The message counts towards its limits."),
    )
    field_order = ("project", "to")


@action(description=gettext_lazy("Send a test"), icon="send", permissions=["change"], url_path="send-test")
def send_test(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Send over one provider and no other, so that its answer is all that the story tells; over a channel as codes go.

    The function has the name of its entry in ``actions_detail``: only then does unfold ask for the right in the row's
    project.
    """
    row: Channel | Provider = model_admin.find(request, object_id)
    if isinstance(row, Provider):
        return _test(model_admin, request, row, row.project, row.channel, provider=row)
    return _test(model_admin, request, row, row.project, row.type)


def send_text_view(request: HttpRequest, model_admin: Any) -> HttpResponse:
    """Send the text that goes out now: ask for the recipient, send, and lead to the page that follows the message."""
    about = about_of(request, request.GET)
    if about is None:
        raise Http404
    project, channel, language = about["project"], about["channel"], about["language"]
    form = RecipientForm(
        channel, request.POST if "to" in request.POST else None, initial=first_address(request, channel)
    )
    if form.is_valid():
        if why := form_tokens.spend(request):
            model_admin.message_user(request, why, messages.WARNING)
            return HttpResponseRedirect(request.get_full_path())
        done = gettext_noop("Sent a text to themselves")
        if message_id := send(form, project, channel, row=project, done=done, language=language):
            model_admin.message_user(request, ON_ITS_WAY)
            return HttpResponseRedirect(live_page_url(message_id))
    answer: HttpResponse = model_admin.ask(
        request,
        _("Send to me: {channel}, {language}").format(
            channel=ChannelType(channel).label, language=language_in_sentence(language)
        ),
        intro=_(
            "A real message with the saved text and a code that cannot be used. It is billed and counts"
            " towards its recipient's limits."
        ),
        submit=_("Send"),
        form=form,
        back=links_of(about)["all"],
        acts_once=True,
    )
    return answer


def live_page_url(message_id: int) -> str:
    """Return the address of a message's page that loads itself anew while the message is under way."""
    return f"{reverse('admin:verification_message_change', args=(message_id,))}?{LIVE}"


def first_address(request: HttpRequest, channel: str) -> dict[str, str]:
    """Return the form's initial data: for e-mail the user's own address."""
    return {"to": getattr(request.user, "email", "")} if channel == ChannelType.EMAIL else {}


def send(
    form: forms.Form,
    project: Project,
    channel: str,
    *,
    row: Model,
    done: str,
    provider: Provider | None = None,
    language: str = "",
) -> int | None:
    """Queue the message and return its id; None where it is refused, with the reason in the form.

    ``done`` tells the audit log, in the past tense, what was done to ``row``. The log gets the masked address alone.
    """
    config = load_project(project.pk)
    if config is None:
        form.add_error("to", _("The project is off, so it sends nothing. Turn it on first."))
        return None
    try:
        address = config.read_address(form.cleaned_data["to"])
        sent = send_message(
            project=config,
            address=address,
            channel_type=channel,
            provider_id=provider.pk if provider else None,
            code=None,
            callback_url="",
            language=language,
        )
    except AddressInvalid as error:
        form.add_error("to", str(error))
        return None
    except FieldsInvalid:  # the provider is the one field that is no text of the user's
        form.add_error("to", _("The provider is off, or no longer serves this project's channel. Turn it on first."))
        return None
    except ApiError as error:
        form.add_error("to", error.detail)
        if error.retry_after:
            form.add_error("to", _("Try again in {retry_after} s.").format(retry_after=error.retry_after))
        return None
    to = mask(address.text)
    audit.record(f"{done}, {to}", row=row, project=project, label=str(row))
    return sent.message_id


def _test(
    model_admin: ScopedAdmin,
    request: HttpRequest,
    row: Channel | Provider,
    project: Project | None,
    channel: str,
    *,
    provider: Provider | None = None,
) -> HttpResponse:
    """Ask for the recipient, send, and go on to the message's page, which follows the message step by step."""
    form = _form(request, project, channel)
    if form.is_valid():
        if why := form_tokens.spend(request):
            model_admin.message_user(request, why, messages.WARNING)
            return HttpResponseRedirect(request.get_full_path())
        owner = project or form.cleaned_data["project"]
        done = gettext_noop("Sent themselves a test")
        if message_id := send(form, owner, channel, row=row, done=done, provider=provider):
            model_admin.message_user(request, ON_ITS_WAY)
            return HttpResponseRedirect(live_page_url(message_id))
    over = (
        _("{provider} only").format(provider=provider)
        if provider
        else _("{row}, trying its providers in order").format(row=row)
    )
    return model_admin.ask(
        request,
        _("Send a test"),
        intro=_(
            "A real message, sent by {over}, with a code that cannot be used. It is billed and counts "
            "towards its recipient's limits. The next page shows its progress step by step."
        ).format(over=over),
        submit=_("Send"),
        row=row,
        form=form,
        back=page_address(row),
        acts_once=True,
    )


def _form(request: HttpRequest, project: Project | None, channel: str) -> forms.Form:
    data: Any = request.POST if "to" in request.POST else None
    initial = first_address(request, channel)
    if project is not None:
        return RecipientForm(channel, data, initial=initial)
    form = RecipientAndProjectForm(channel, data, initial=initial)
    field = form.fields["project"]
    assert isinstance(field, forms.ModelChoiceField)
    field.queryset = own_projects(request.user, Right.CHANGE).order_by("name")
    field.initial = current_project_id(request)
    return form
