from importlib import import_module
from pkgutil import walk_packages
from typing import Any

from django.contrib import admin
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core.checks import CheckMessage, Tags, register


class PanelConfig(SimpleAdminConfig):
    """Load the pages with the URLs, not at every start.

    A worker and most commands show none, and loading them is a third of a command's time.
    """

    default_site = "verification.admin.site.PanelSite"

    def ready(self) -> None:
        register(check_dependencies, Tags.admin)
        register(check_pages, Tags.admin)


def discover() -> None:
    """Register every page: each module below this package does so by ``@admin.register``.

    Django imports ``verification.admin`` alone. A module of it may be needed without the pages, such as the sessions'
    store, so its ``__init__`` does not import them.
    """
    admin.autodiscover()
    package = import_module("verification.admin")
    for module in walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)


def check_pages(**arguments: Any) -> list[CheckMessage]:
    discover()
    messages: list[CheckMessage] = check_admin_app(**arguments)
    return messages
