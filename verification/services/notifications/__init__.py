"""Notices to owners and their servers: alerts, callbacks and other events."""
