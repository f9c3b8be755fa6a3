"""The owners' panel. Importing the package registers every page."""

from verification.admin import (
    callbacks,
    channels,
    keys,
    projects,
    providers,
    suppressions,
    testlogins,
    texts,
    traffic,
    users,
)

__all__ = [
    "callbacks",
    "channels",
    "keys",
    "projects",
    "providers",
    "suppressions",
    "testlogins",
    "texts",
    "traffic",
    "users",
]
