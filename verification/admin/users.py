"""Accounts of the panel, for superusers only. What a member may do follows from their projects, so Django's groups and
permissions are left out."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from verification.admin.display import label, recent, time_of
from verification.admin.projects import MembershipInline
from verification.admin.scoping import ScopedAdmin, Who

admin.site.unregister(User)
admin.site.unregister(Group)


class ProjectInline(MembershipInline):
    verbose_name_plural = "projects"


@admin.register(User)
class UserAdmin(ScopedAdmin, DjangoUserAdmin):  # type: ignore[type-arg,misc]  # not generic at run time
    viewers = adders = changers = deleters = Who.SUPERUSERS
    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    inlines = (ProjectInline,)
    list_display = ("username", "email", "role", "state", "seen")
    list_filter = ("is_active", "is_superuser")
    filter_horizontal = ()
    search_fields = ("username", "email")
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Person", {"fields": ("first_name", "last_name", "email")}),
        (
            "May",
            {
                "fields": ("is_active", "is_staff", "is_superuser"),
                "description": "Staff may enter the panel and see the projects they are members of; superusers see"
                " everything.",
            },
        ),
        ("Times", {"fields": ("logged_in", "joined")}),
    )
    add_fieldsets = ((None, {"fields": ("username", "email", "password1", "password2", "is_staff")}),)
    readonly_fields = ("logged_in", "joined")
    logged_in = time_of("last_login", "Last login")
    joined = time_of("date_joined", "Added")

    @admin.display(description="Role", ordering="is_superuser")
    def role(self, user: User) -> str:
        return "Superuser" if user.is_superuser else "Staff" if user.is_staff else "No access"

    @admin.display(description="State", ordering="is_active")
    def state(self, user: User) -> str:
        return label("Active", "success") if user.is_active else label("Disabled", "warning")

    @admin.display(description="Last login", ordering="last_login")
    def seen(self, user: User) -> str:
        return recent(user.last_login) if user.last_login else "Never"

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {"is_staff": True}  # an account is made so that somebody can enter
