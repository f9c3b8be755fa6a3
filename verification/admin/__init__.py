"""The owners' panel. Importing the package registers every page."""

from verification.admin import (
    alerts,
    audit,
    callbacks,
    channels,
    decisions,
    guard,
    keys,
    lists,
    platform,
    projects,
    providers,
    suppressions,
    testlogins,
    texts,
    traffic,
    users,
)

__all__ = [
    "alerts",
    "audit",
    "callbacks",
    "channels",
    "decisions",
    "guard",
    "keys",
    "lists",
    "platform",
    "projects",
    "providers",
    "suppressions",
    "testlogins",
    "texts",
    "traffic",
    "users",
]
