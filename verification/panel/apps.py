from typing import Any

from django.contrib import admin
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core.checks import CheckMessage, Tags, register


class PanelConfig(SimpleAdminConfig):
    """Load the pages with the URLs, not at every start.

    A worker and most commands show none, and loading them is a third of a command's time.
    """

    default_site = "verification.panel.door.site.PanelSite"

    def ready(self) -> None:
        register(check_dependencies, Tags.admin)
        register(check_pages, Tags.admin)


def check_pages(**arguments: Any) -> list[CheckMessage]:
    admin.autodiscover()
    found: list[CheckMessage] = check_admin_app(**arguments)
    return found
