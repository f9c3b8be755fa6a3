"""The module in which Django looks for the pages of its admin site: ours stand in ``panel/pages``."""

from verification.panel import pages

__all__ = ["pages"]
