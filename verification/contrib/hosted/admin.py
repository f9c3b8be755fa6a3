"""A project's hosted page in the panel: its switch, looks and return addresses, and its logo."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import capfirst, format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop
from unfold.decorators import action
from unfold.widgets import (
    UnfoldAdminFileFieldWidget,
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminTextInputWidget,
    UnfoldBooleanSwitchWidget,
)

from verification.admin.auth.reauthentication import skip_reauthentication
from verification.admin.base.display import page_address
from verification.admin.base.fields import LinesField
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.projects.project import ProjectAdmin
from verification.admin.projects.sections import INTEGRATION
from verification.contrib.hosted import hosted_pages
from verification.contrib.hosted.logos import MAX_BYTES, MAX_SIDE
from verification.core.errors import UserError
from verification.models import HandOver, HostedPage, Project
from verification.services.projects import hosted_page


def _label(name: str) -> dict[str, Any]:
    """Return the words that the model has for a field."""
    field: Any = HostedPage._meta.get_field(name)
    return {"label": capfirst(field.verbose_name), "help_text": field.help_text}


class HostedPageForm(forms.Form):
    """Takes the settings. The model judges them when they are saved."""

    is_enabled = forms.BooleanField(required=False, widget=UnfoldBooleanSwitchWidget, **_label("is_enabled"))
    return_addresses = LinesField(required=False, **_label("return_addresses"))
    hand_over = forms.ChoiceField(choices=HandOver.choices, widget=UnfoldAdminRadioSelectWidget, **_label("hand_over"))
    title = forms.CharField(required=False, max_length=60, widget=UnfoldAdminTextInputWidget, **_label("title"))
    accent = forms.CharField(
        max_length=7,
        widget=UnfoldAdminTextInputWidget(
            attrs={
                "spellcheck": "false",
                "data-colour": "",
                "data-say-button": gettext_lazy("Continue"),
                "data-say-link": gettext_lazy("Link"),
                "data-say-adjusted": gettext_lazy("adjusted for contrast"),
                "data-say-on-light": gettext_lazy("On light pages"),
                "data-say-on-dark": gettext_lazy("On dark pages"),
            }
        ),
        **_label("accent"),
    )

    def clean_accent(self) -> str:
        accent: str = self.cleaned_data["accent"]
        return accent.lower()


class LogoForm(forms.Form):
    logo = forms.FileField(
        required=False,
        label="PNG",
        help_text=format_lazy(
            gettext_lazy(
                "At most {number} kB and {max_side} × {max_side} pixels. Without a logo, the page shows the"
                " first letter of the name."
            ),
            number=MAX_BYTES // 1024,
            max_side=MAX_SIDE,
        ),
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": "image/png"}),
    )


@action(description=gettext_lazy("Hosted page"), icon="web", permissions=["change"], url_path="hosted-page")
def show_hosted_page(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Show the settings, and save them."""
    project: Project = model_admin.find(request, object_id)
    hosted = hosted_page.page_of(project)
    initial = {name: getattr(hosted, name) for name in hosted_page.SETTABLE}
    form = HostedPageForm(request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid() and _save(request, project, form):
        model_admin.log_change(request, project, gettext_noop("Changed the hosted page"))
        model_admin.message_user(request, _("The hosted page is saved."))
        return HttpResponseRedirect(_address(project))
    return _show(model_admin, request, project, form=form)


@skip_reauthentication  # a picture leads nobody anywhere, and a file would be lost while the question is asked
@action(description=gettext_lazy("Logo"), permissions=["change"], url_path="hosted-page-logo")
def set_logo(model_admin: ScopedAdmin, request: HttpRequest, object_id: str) -> HttpResponse:
    """Take a new logo, or take it away."""
    project: Project = model_admin.find(request, object_id)
    if request.method != "POST":
        return HttpResponseRedirect(_address(project))
    form = LogoForm(request.POST, request.FILES)
    if "remove" in request.POST:
        hosted_pages.set_logo(project, None)
        model_admin.log_change(request, project, gettext_noop("Removed the logo of the hosted page"))
    elif form.is_valid() and (upload := form.cleaned_data["logo"]):
        try:
            hosted_pages.set_logo(project, upload.read(MAX_BYTES + 1))
        except UserError as error:
            form.add_error("logo", str(error))
            return _show(model_admin, request, project, logo_form=form)
        model_admin.log_change(request, project, gettext_noop("Changed the logo of the hosted page"))
    else:
        form.add_error("logo", _("Choose a file."))
        return _show(model_admin, request, project, logo_form=form)
    model_admin.message_user(request, _("The logo is saved."))
    return HttpResponseRedirect(_address(project))


def _save(request: HttpRequest, project: Project, form: HostedPageForm) -> bool:
    """Return whether it was saved; else the form says why not."""
    try:
        hosted_page.save(project, form.cleaned_data, by=request.user)
    except ValidationError as error:
        for name, texts in error.message_dict.items():
            form.add_error(name if name in form.fields else None, texts)
    except UserError as error:
        form.add_error(None, str(error))
    return not form.errors


def _show(
    model_admin: ScopedAdmin,
    request: HttpRequest,
    project: Project,
    *,
    form: HostedPageForm | None = None,
    logo_form: LogoForm | None = None,
) -> HttpResponse:
    hosted = hosted_page.page_of(project)
    initial = {name: getattr(hosted, name) for name in hosted_page.SETTABLE}
    address = f"{settings.BASE_URL}/verify/{project.public_id}"
    first = hosted.return_addresses[:1]
    context = model_admin.page_context(
        request,
        _("Hosted page"),
        object=project,
        hosted=hosted,
        is_served=hosted_pages.find(project.public_id) is not None,
        form=form or HostedPageForm(initial=initial),
        logo_form=logo_form or LogoForm(),
        action=_address(project),
        logo_action=reverse("admin:verification_project_set_logo", args=(project.pk,)),
        link=f"{address}?{urlencode({'return_to': first[0], 'state': 'anything'})}" if first else "",
        back=page_address(project),
    )
    return TemplateResponse(request, "admin/verification/project/hosted_page.html", context)


def _address(project: Project) -> str:
    return reverse("admin:verification_project_show_hosted_page", args=(project.pk,))


ProjectAdmin.add_actions(show_hosted_page, set_logo, part=INTEGRATION)
