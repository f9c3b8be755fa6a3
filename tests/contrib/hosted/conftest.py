"""The panel, as the tests of its own pages have it."""

from tests.admin.conftest import pages_are_loaded, panel, shared_panel

__all__ = ["pages_are_loaded", "panel", "shared_panel"]
