"""The browsers in which a user is logged in to the panel, and ending them. A login goes with its session."""

from __future__ import annotations

import re
import uuid
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from verification.core.networks import read_address
from verification.models import BrowserLogin
from verification.services.records import audit

# The first that a browser's name for itself holds. Most of them also name those that they descend from.
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
SYSTEMS = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)
MAX_LIFE = timedelta(hours=12)  # a session's life from the login, even a busy one's


def record_login(stored_key: str, *, user_id: int, browser: str, network: str, started_at: datetime) -> None:
    """Keep what is shown of a session. Nothing changes if it is kept already."""
    BrowserLogin.objects.get_or_create(
        session_id=stored_key,
        defaults={"user_id": user_id, "browser": browser, "network": network, "started_at": started_at},
    )


def of(user: User) -> QuerySet[BrowserLogin]:
    """Return the user's logins that still open the panel, the latest first."""
    now = timezone.now()
    return (
        BrowserLogin.objects.filter(user=user, session__expire_date__gt=now, started_at__gt=now - MAX_LIFE)
        .select_related("session")
        .order_by("-started_at")
    )


@transaction.atomic
def end(user: User, number: uuid.UUID) -> bool:
    """End one login of the user. Return False if it was over."""
    found = BrowserLogin.objects.filter(user=user, number=number).first()
    if found is None:
        return False
    audit.record("Ended a login", row=user, label=user.get_username())
    Session.objects.filter(pk=found.session_id).delete()
    return True


@transaction.atomic
def end_all(user: User, *, but: str = "") -> int:
    """End all logins of the user but the one with this stored key. Return how many."""
    keys = list(BrowserLogin.objects.filter(user=user).exclude(session_id=but).values_list("session_id", flat=True))
    if keys:
        audit.record("Ended all other logins" if but else "Ended all logins", row=user, label=user.get_username())
    Session.objects.filter(pk__in=keys).delete()
    return len(keys)


def browser_of(user_agent: str) -> str:
    """Return the browser and its system in words, such as "Firefox on Windows"."""
    browser = next((name for mark, name in BROWSERS if re.search(rf"\b{mark}/", user_agent)), _("Unknown browser"))
    system = next((name for mark, name in SYSTEMS if mark in user_agent), "")
    return _("{browser} on {system}").format(browser=browser, system=system) if system else browser


def masked_network(address: str | None) -> str:
    """Return the network of an address without the part that names the device: three bytes, or 48 bits of IPv6."""
    read = read_address(address or "")
    if read is None:
        return _("Unknown network")
    if read.version == 4:
        return ".".join(str(read).split(".")[:3]) + ".…"
    return ":".join(read.exploded.split(":")[:3]) + ":…"
