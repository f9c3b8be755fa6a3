"""The libraries of vendors, which an installation may lack: those that single types of provider need."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

# The module by which each package is imported.
_MODULES = {
    "apprise": "apprise",
    "boto3": "boto3",
    "django-anymail": "anymail",
    "requests": "requests",
    "svix": "svix",
}


def missing(packages: Iterable[str]) -> list[str]:
    """Return those of the packages that are not installed here."""
    return [package for package in packages if find_spec(_MODULES[package]) is None]


def remedy(packages: Iterable[str]) -> str:
    """Return what is missing, and how to install it; the empty string where nothing is."""
    lacking = missing(packages)
    if not lacking:
        return ""
    return (
        f"this type of provider needs {' and '.join(lacking)}, not installed here. The operator installs it"
        " with pip install -r requirements/vendors.txt, a file of the service, and restarts"
    )
