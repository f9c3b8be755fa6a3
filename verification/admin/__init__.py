"""The owners' panel. Importing the package registers every page."""

from verification.admin import channels, keys, projects, providers, testlogins, traffic, users

__all__ = ["channels", "keys", "projects", "providers", "testlogins", "traffic", "users"]
