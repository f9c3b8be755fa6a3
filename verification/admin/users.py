"""Accounts of the panel, for superusers only.

Django's groups and permissions are left out: a member's role in each project decides what they may do.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.forms import AdminPasswordChangeForm, UserCreationForm

from verification.admin.base.display import column, label, time_ago_label
from verification.admin.base.model_admin import ScopedAdmin
from verification.admin.base.permissions import ScopedInline, Who
from verification.models import Membership
from verification.services.users import logins, second_factor

admin.site.unregister(User)
admin.site.unregister(Group)


LABELS = {"is_staff": gettext_lazy("Can log in"), "is_superuser": gettext_lazy("Superuser")}
HELP_TEXTS = {
    "username": gettext_lazy("Only letters, digits and @ . + - _"),
    "email": gettext_lazy("Receives the alerts of their projects."),
    "is_active": gettext_lazy(
        "When off, their sessions end and they can no longer log in. Their actions stay in the audit log"
        " under their name."
    ),
    "is_staff": gettext_lazy("Can use this panel. They only see what their role in each project allows."),
    "is_superuser": gettext_lazy(
        "Can view and change every project, the kill switches, the platform limits and these accounts."
    ),
}


class MembershipInline(ScopedInline):
    """The projects of a user. The people of a project are on its own page."""

    model = Membership
    viewers = adders = changers = deleters = Who.SUPERUSERS
    add_text = gettext_lazy("Add a project")
    verbose_name, verbose_name_plural = gettext_lazy("member"), gettext_lazy("projects")
    tab = True


class AccountForm(UserChangeForm):  # type: ignore[type-arg]  # not generic at run time
    password = None  # type: ignore[assignment]  # Django's field would show the beginning of the hash

    class Meta(UserChangeForm.Meta):
        labels = LABELS
        help_texts = HELP_TEXTS


class NewAccountForm(UserCreationForm):
    class Meta(UserCreationForm.Meta):
        labels = LABELS
        help_texts = HELP_TEXTS


@admin.register(User)
class UserAdmin(ScopedAdmin, DjangoUserAdmin):  # type: ignore[type-arg,misc]  # not generic at run time
    viewers = adders = changers = deleters = Who.SUPERUSERS
    intro = gettext_lazy("To invite someone to a project, open the project and choose People.")
    form = AccountForm
    add_form = NewAccountForm
    change_password_form = AdminPasswordChangeForm
    inlines = (MembershipInline,)
    list_display = ("username", "email", "role", "state", "seen")
    list_filter = ("is_active", "is_superuser")
    filter_horizontal = ()
    search_fields = ("username", "email")
    fieldsets = (
        (None, {"fields": ("username", "first_name", "last_name", "email")}),
        (gettext_lazy("Access"), {"fields": ("is_active", "is_staff", "is_superuser")}),
        (gettext_lazy("Login"), {"fields": ("password_state", "factor_state", "browsers", "logged_in", "joined")}),
    )
    add_fieldsets = ((None, {"fields": ("username", "email", "password1", "password2", "is_staff")}),)
    readonly_fields = ("password_state", "factor_state", "browsers", "logged_in", "joined")

    logged_in = column("last_login", gettext_lazy("Last login"))
    joined = column("date_joined", gettext_lazy("Added"))

    @admin.display(description=gettext_lazy("Role"), ordering="is_superuser")
    def role(self, user: User) -> str:
        return _("Superuser") if user.is_superuser else _("Member") if user.is_staff else _("No access")

    @admin.display(description=gettext_lazy("State"), ordering="is_active")
    def state(self, user: User) -> str:
        return label(_("Active"), "success") if user.is_active else label(_("Off"), "warning")

    @admin.display(description=gettext_lazy("Last login"), ordering="last_login")
    def seen(self, user: User) -> str:
        return time_ago_label(user.last_login) if user.last_login else _("Never")

    @admin.display(description=gettext_lazy("Password"))
    def password_state(self, user: User) -> str:
        is_set = user.has_usable_password()
        return format_html(
            '{} <a class="ww-link" href="{}">{}</a>',
            _("Set.") if is_set else _("Not set."),
            reverse("admin:auth_user_password_change", args=(user.pk,)),
            _("Change") if is_set else _("Set"),
        )

    @admin.display(description=gettext_lazy("Active sessions"))
    def browsers(self, user: User) -> str:
        number = logins.of(user).count()
        where = (
            _("None.")
            if not number
            else ngettext("{number} browser.", "{number} browsers.", number).format(number=number)
        )
        return format_html(
            _('{} <a class="ww-link" href="{}">View and log out</a>'),
            where,
            reverse("admin:logins_of", args=(user.pk,)),
        )

    @admin.display(description=gettext_lazy("Two-factor authentication"))
    def factor_state(self, user: User) -> str:
        if not second_factor.factors_of(user):
            return _("Not set up")
        return format_html(
            _('Set up. <span class="ww-muted">If the phone or key is lost: <span class="ww-code">{}</span></span>'),
            f"manage.py resetfactor {user.get_username()}",
        )

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"is_staff": True}  # a new account is mostly for somebody who is to log in
