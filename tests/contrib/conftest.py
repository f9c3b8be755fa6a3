"""The panel, as the tests of its own pages have it. The tests of an app that is left out are left out too."""

from config.environment import env
from tests.admin.conftest import pages_are_loaded, panel, shared_panel

__all__ = ["pages_are_loaded", "panel", "shared_panel"]
collect_ignore = env.list("WITHOUT_APPS", default=[])
