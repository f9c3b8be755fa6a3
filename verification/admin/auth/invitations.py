"""Accepting an invitation: its link, and the page that makes an account or takes the user's own.

Opening the link uses nothing up: mail scanners open links, too. The token leaves the address at once, so that it
stands in no history; the session keeps its digest.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.auth import password_validation
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextInputWidget

from verification.admin.auth.login import INVITED, after_password
from verification.admin.auth.reauthentication import skip_reauthentication
from verification.admin.auth.second_factor import page
from verification.core.errors import UserError
from verification.models import Invitation, Role
from verification.services.users import invitations

GONE = 410  # the status of a link that was good once, or never


class InvitedAccountForm(forms.Form):
    username = forms.CharField(
        label=gettext_lazy("Username"),
        max_length=150,
        validators=[User.username_validator],
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "username", "autofocus": True}),
        help_text=gettext_lazy("The name you log in with. Only letters, digits and @ . + - _"),
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        strip=False,
        max_length=256,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
        help_text=gettext_lazy("At least 12 characters."),
    )
    again = forms.CharField(
        label=gettext_lazy("Repeat password"),
        strip=False,
        max_length=256,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, *args: Any, email: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.email = email

    def clean_username(self) -> str:
        name = User.normalize_username(self.cleaned_data["username"])
        if User.objects.filter(username__iexact=name).exists():
            raise forms.ValidationError(_("This username is already in use. Choose another."))
        return str(name)

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if "password" in values and "again" in values and values["password"] != values["again"]:
            self.add_error("again", _("The passwords don't match."))
        if "password" in values:
            user = User(username=values.get("username", ""), email=self.email)
            try:
                password_validation.validate_password(values["password"], user)
            except forms.ValidationError as error:
                self.add_error("password", error)
        return values


@never_cache
def open_link(request: HttpRequest, token: str) -> HttpResponse:
    digest = invitations.digest_of(token)
    if invitations.find(digest) is None:  # no session for it: strangers could fill the table with links they made up
        request.session.pop(INVITED, None)
    else:
        request.session[INVITED] = digest.hex()
    return HttpResponseRedirect(reverse("admin:join"))


@never_cache
@csrf_protect
@skip_reauthentication  # the page is for those who have no account yet, too
def join(request: HttpRequest) -> HttpResponse:
    invitation = invitations.find(bytes.fromhex(request.session.get(INVITED, "")))
    if invitation is None:
        return _over(request)
    if admin.site.has_permission(request):
        return _join_as(request, invitation)
    if invitations.accounts_of(invitation.email):
        return _show(request, invitation, login=reverse("admin:login", query={"next": reverse("admin:join")}))
    form = InvitedAccountForm(request.POST if request.method == "POST" else None, email=invitation.email)
    if form.is_valid():
        try:
            user = invitations.accept_as_new(
                invitation, username=form.cleaned_data["username"], password=form.cleaned_data["password"]
            )
        except UserError as error:
            form.add_error(None, str(error))
        else:
            request.session.pop(INVITED)
            return after_password(request, user, next_page=reverse("admin:index"))
    return _show(request, invitation, form=form)


def _join_as(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    """Have a user who is logged in join with a click, if the invitation is for their address."""
    user: Any = request.user
    if not invitations.is_for(invitation, user):
        return _show(request, invitation, is_other=True)
    if request.method != "POST":
        return _show(request, invitation)
    try:
        invitations.accept(invitation, user)
    except UserError as error:
        messages.warning(request, str(error))
    else:
        messages.success(request, _("You are now a member of {project}.").format(project=invitation.project))
    request.session.pop(INVITED)
    return HttpResponseRedirect(reverse("admin:index"))


def _show(request: HttpRequest, invitation: Invitation, **more: Any) -> HttpResponse:
    role = Role(invitation.role).label.lower()
    return page(
        request,
        "join.html",
        _("Join {project}").format(project=invitation.project),
        invitation=invitation,
        role=role,
        **more,
    )


def _over(request: HttpRequest) -> HttpResponse:
    response = page(request, "join_over.html", _("This link has expired"), text=invitations.OVER)
    response.status_code = GONE
    return response
