from typing import Any

from django.apps import AppConfig


class ConnectionsConfig(AppConfig):
    name = "verification.contrib.connections"
    label = "connections"
    verbose_name = "Connections of identity systems"
    set_up_part = "connections"  # the name of its part in a project's set-up file

    def set_up(self) -> Any:
        """Return the module that reads and writes this part."""
        from verification.contrib.connections import set_up

        return set_up
