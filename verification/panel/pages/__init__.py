"""The pages of the panel, one file for each entry of the menu. Importing the package registers every page."""

from verification.panel.pages import (
    alerts,
    audit,
    callbacks,
    ceilings,
    channels,
    decisions,
    guard,
    keys,
    lists,
    messages,
    recipients,
    sessions,
    suppressions,
    test_logins,
    texts,
    users,
)
from verification.panel.pages.projects import project
from verification.panel.pages.providers import provider

__all__ = [
    "alerts",
    "audit",
    "callbacks",
    "ceilings",
    "channels",
    "decisions",
    "guard",
    "keys",
    "lists",
    "messages",
    "project",
    "provider",
    "recipients",
    "sessions",
    "suppressions",
    "test_logins",
    "texts",
    "users",
]
