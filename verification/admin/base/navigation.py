"""The sidebar and the account menu. The settings name these functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from verification.admin.base import current_project
from verification.admin.base.permissions import has_right, own_project_ids
from verification.models import Right
from verification.services.providers.accounts import is_known

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

_NOW = (
    (gettext_lazy("Overview"), "space_dashboard", "admin:index"),
    (gettext_lazy("Projects"), "folder_open", "admin:verification_project_changelist"),
    (gettext_lazy("Figures"), "monitoring", "admin:verification_figures"),
    (gettext_lazy("Costs"), "payments", "admin:verification_costs"),
    (gettext_lazy("Alerts"), "notifications", "admin:verification_alert_changelist"),
)
_SET_UP = (
    (gettext_lazy("Channels"), "alt_route", "admin:verification_channel_changelist"),
    (gettext_lazy("Providers"), "hub", "admin:verification_provider_changelist"),
    (gettext_lazy("Routing rules"), "fork_right", "admin:verification_routingrule_changelist"),
    (gettext_lazy("Message texts"), "edit_note", "admin:verification_messagetemplate_changelist"),
    (gettext_lazy("API keys"), "key", "admin:verification_apikey_changelist"),
    (gettext_lazy("Alert destinations"), "campaign", "admin:verification_alertservice_changelist"),
    (gettext_lazy("Test logins"), "science", "admin:verification_testlogin_changelist"),
)
_PROTECTION = (
    (gettext_lazy("Traffic guard"), "shield", "admin:verification_guardblock_changelist"),
    (gettext_lazy("Block & safe lists"), "block", "admin:verification_listentry_changelist"),
    (gettext_lazy("Decision log"), "gavel", "admin:verification_decision_changelist"),
    (gettext_lazy("Audit log"), "history", "admin:verification_auditentry_changelist"),
)
_TRAFFIC = (
    (gettext_lazy("Messages"), "send", "admin:verification_message_changelist"),
    (gettext_lazy("Sessions"), "verified_user", "admin:verification_session_changelist"),
    (gettext_lazy("Recipients"), "contacts", "admin:verification_recipient_changelist"),
    (gettext_lazy("Suppressions"), "do_not_disturb_on", "admin:verification_suppression_changelist"),
    (gettext_lazy("Events"), "webhook", "admin:verification_webhookevent_changelist"),
)
_INBOX = ((gettext_lazy("Inbox"), "inbox", "admin:verification_inbox"),)  # shown only where the inbox provider may run
_WITHIN_MESSAGES = ("admin:verification_inbox", "admin:verification_figures", "admin:verification_costs")
_OPERATION = (
    (gettext_lazy("Kill switches"), "emergency_home", "admin:verification_killswitch_changelist"),
    (gettext_lazy("Platform limits"), "vertical_align_top", "admin:verification_platform_changelist"),
    (gettext_lazy("Exchange rates"), "currency_exchange", "admin:verification_exchangerate_changelist"),
    (gettext_lazy("Users"), "group", "admin:auth_user_changelist"),
)


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = [
        {"title": None, "items": _items(request, _NOW)},
        {"title": _("Traffic"), "separator": True, "items": _items(request, _TRAFFIC + _INBOX * is_known("inbox"))},
        {"title": _("Protection"), "separator": True, "items": _items(request, _PROTECTION)},
        {"title": _("Set up"), "separator": True, "items": [*_settings(request), *_items(request, _SET_UP)]},
    ]
    if request.user.is_superuser:
        groups.append({"title": _("Operation"), "separator": True, "items": _items(request, _OPERATION)})
    return [group for group in groups if group["items"]]


def menu_title(link: str, *, default: str) -> str:
    """Return what the menu calls the page at this address, so that breadcrumbs and titles say the same."""
    for title, _unused, name in (*_NOW, *_TRAFFIC, *_INBOX, *_PROTECTION, *_SET_UP, *_OPERATION):
        if reverse(name) == link:
            return str(title)
    return default


def account(request: HttpRequest) -> list[dict[str, Any]]:
    return [
        {"title": _("API reference"), "link": "/docs/"},
        {"title": _("Active sessions"), "link": reverse("admin:logins")},
        {"title": _("Two-factor authentication"), "link": reverse("admin:second_factor")},
        {"title": _("Change password"), "link": reverse("admin:password_change")},
    ]


def _items(request: HttpRequest, entries: tuple[tuple[StrOrPromise, str, str], ...]) -> list[dict[str, Any]]:
    return [
        {"title": title, "icon": icon, "link": current_project.link(request, name), "active": _is_active(request, name)}
        for title, icon, name in entries
        if _may_open(request, name) and current_project.may_open(request, name)
    ]


def _settings(request: HttpRequest) -> list[dict[str, Any]]:
    """Return the menu item that opens the settings of the chosen project, or of the only one."""
    own = own_project_ids(request)
    chosen = own[0] if len(own) == 1 else current_project.current_project_id(request)
    if chosen is None:
        return []
    page = reverse("admin:verification_project_change", args=(chosen,))
    is_open = request.path.startswith(page.removesuffix("change/"))
    return [{"title": _("Project settings"), "icon": "settings", "link": page, "active": is_open}]


def _may_open(request: HttpRequest, name: str) -> bool:
    """Return whether the user's roles open the page. Pages other than lists, but for the inbox, are open to all."""
    if name == _INBOX[0][2]:
        return has_right(request, Right.USE_KEYS)
    page = current_project.page_of_list(name)
    return page is None or page.has_module_permission(request)


def _is_active(request: HttpRequest, name: str) -> bool:
    """Return whether a menu item is the current one.

    Unfold marks every item with which the page's address begins. The inbox and the figures stand below the messages,
    and would mark the messages, too.
    """
    link, own = reverse(name), tuple(map(reverse, _WITHIN_MESSAGES))
    alone = ["admin:index"]
    if current_project.current_project_id(request) is not None:
        alone.append("admin:verification_project_changelist")  # the chosen project's page has an item of its own
    if name in alone:
        return request.path == link
    return request.path.startswith(link) and (link in own or not request.path.startswith(own))
