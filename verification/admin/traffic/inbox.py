"""The inbox: messages that providers of the type ``inbox`` store instead of sending, for development."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django_redis.exceptions import ConnectionInterrupted
from redis.exceptions import RedisError

from providers.adapters.inbox import InboxMessage, read
from verification.admin.auth.session import BY_ITSELF
from verification.admin.base.current_project import current_project_id, current_projects, follow_address
from verification.admin.base.display import channel_icon, time_ago
from verification.admin.base.permissions import has_right
from verification.models import ChannelType, Message, Provider, Right
from verification.services.providers.accounts import is_known
from verification.services.providers.store import ProviderStore

INBOX = "inbox"  # the type of provider
REFRESH_SECONDS = 5  # how often the page reloads itself, where asked to
MAX_SHOWN = 100  # messages on the page, so that it stays short


@dataclass(frozen=True, slots=True)
class InboxRow:
    """One message as the page shows it."""

    message: InboxMessage
    channel: str
    icon: str
    ago: str


def inbox_view(request: HttpRequest, model_admin: Any) -> HttpResponse:
    if redirect := follow_address(request):
        return redirect
    if not has_right(request, Right.USE_KEYS):
        raise PermissionDenied
    providers = _providers(request)
    try:
        stored, is_away = _messages(request, providers), False
    except (RedisError, ConnectionInterrupted, OSError):
        stored, is_away = [], True
    context = model_admin.page_context(
        request,
        _("Inbox"),
        opts=None,
        entries=[_entry(message) for message in stored[:MAX_SHOWN]],
        is_away=is_away,
        has_provider=bool(providers),
        is_run=is_known(INBOX),
        refresh=REFRESH_SECONDS if "live" in request.GET else None,
        by_itself=BY_ITSELF,
    )
    response = TemplateResponse(request, "admin/verification/inbox.html", context)
    response["Cache-Control"] = "no-store"  # the page is full of codes
    return response


def _providers(request: HttpRequest) -> list[Provider]:
    """Return the inboxes of the user's projects and of the system, which holds everybody's messages.

    The list is empty where the operator runs no inbox.
    """
    if not is_known(INBOX):
        return []
    return list(Provider.objects.of(current_projects(request, Right.USE_KEYS)).filter(type=INBOX))


def _messages(request: HttpRequest, providers: list[Provider]) -> list[InboxMessage]:
    """Return the stored messages, the newest first.

    A message in a system inbox is shown only if its row belongs to one of the projects that the page is about.
    """
    stored: list[InboxMessage] = []
    for provider in providers:
        inbox = read(ProviderStore(provider.pk))
        if provider.is_system and (current_project_id(request) or not request.user.is_superuser):
            projects = current_projects(request, Right.USE_KEYS)
            theirs = Message.objects.filter(pk__in=[each.id for each in inbox], project__in=projects)
            mine = set(theirs.values_list("pk", flat=True))
            inbox = [each for each in inbox if each.id in mine]
        stored += inbox
    return sorted(stored, key=lambda message: message.at, reverse=True)


def _entry(message: InboxMessage) -> InboxRow:
    return InboxRow(
        message,
        channel=str(ChannelType(message.channel).label) if message.channel in ChannelType.values else message.channel,
        icon=channel_icon(message.channel if message.channel in ChannelType.values else ChannelType.SMS),
        ago=time_ago(datetime.fromisoformat(message.at)),
    )
