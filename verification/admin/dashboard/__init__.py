"""The panel's first page."""
