"""Notices to owners and their servers: alerts and callbacks."""
