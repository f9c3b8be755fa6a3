"""Reads settings from the environment. A wrong one is one line that names it, without its value: it may be a secret."""

import re
from collections.abc import Iterable
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

from verification.core.urls import split_hosts

HOST = re.compile(r"(\[[^]]+\]|[^:]*)(:\d+)?")
SENTINELS_PATH = re.compile(r"/[^/]+(/\d*)?")  # the name of what the sentinels watch, and the number of a database
SWITCH = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
LARGEST = 2**31 - 1  # what the servers and libraries that get such a number read as one


class Environment(environ.FileAwareEnv):  # type: ignore[misc]  # it has no types
    """``NAME_FILE`` may hold the path of a file with NAME's value. White space around a value does not count: a file
    ends with a line break. Unlike in its parent a ``$`` at a value's start stands for itself: a secret may begin so.
    """

    def get_value(
        self, var: str, cast: Any = None, default: Any = environ.Env.NOTSET, parse_default: bool = False
    ) -> Any:
        try:
            text = self.ENVIRON[var].strip()
        except KeyError:
            return default
        except OSError as error:
            raise ImproperlyConfigured(f"{var}_FILE: cannot read {error.filename}: {error.strerror}.") from None
        except UnicodeDecodeError:
            raise ImproperlyConfigured(f"{var}_FILE is not a file of text.") from None
        try:
            return self.parse_value(text, cast)
        except ValueError:
            raise ImproperlyConfigured(f"{var} is not a number.") from None

    def list(self, var: str, cast: Any = None, default: Any = environ.Env.NOTSET) -> Any:
        return [item.strip() for item in super().list(var, cast, default)]

    def networks(self, name: str, *, default: Any) -> Any:
        """Networks of IP addresses, such as ``10.0.0.0/8``."""
        found = self.list(name, default=default)
        try:
            for text in found:
                ip_network(text)
        except ValueError:
            raise ImproperlyConfigured(f"{name} takes networks such as 10.0.0.0/8, separated by commas.") from None
        return found

    def bool(self, var: str, default: Any = environ.Env.NOTSET) -> Any:
        """A switch. A word that is none, such as ``ture``, would else be a silent no."""
        text: str = self.str(var, default="")
        if text and text.lower() not in SWITCH:
            raise ImproperlyConfigured(f"{var} is one of: true, false.")
        return SWITCH[text.lower()] if text else default

    def number(self, name: str, *, default: int, least: int = 0, most: int = LARGEST) -> int:
        value: int = self.int(name, default=default)
        if not least <= value <= most:
            raise ImproperlyConfigured(f"{name} is a whole number from {least} to {most}.")
        return value

    def choice(self, name: str, choices: Iterable[str], *, default: str) -> str:
        value: str = self.str(name, default=default) or default
        if value not in choices:
            raise ImproperlyConfigured(f"{name} is one of: {', '.join(choices)}.")
        return value

    def choices(self, name: str, choices: Iterable[str]) -> Any:
        """Some of the choices, separated by commas; none by default."""
        values = self.list(name, default=[])
        if not set(values) <= set(choices):
            raise ImproperlyConfigured(f"{name} takes some of these, separated by commas: {', '.join(choices)}.")
        return values

    def address(self, name: str, schemes: Iterable[str], *, default: str, example: str) -> str:
        """A URL that is surely read as it was meant. One with a password in which a ``/`` or ``#`` was not escaped is
        not: what it names as its host is a part of the password, which then stands in error messages."""
        url: str = self.str(name, default=default) or default
        if url and not is_sound(url, schemes):
            raise ImproperlyConfigured(
                f"{name} cannot be read. Write it as {example}, and special characters in it as %40 for @, %2F for /."
            )
        return url

    def origin(self, name: str, *, default: str, example: str) -> str:
        """The address of a service at the root of its host: a scheme and a host, without a slash at its end."""
        url = self.address(name, ("http", "https"), default=default, example=example).rstrip("/")
        parts = urlsplit(url)
        if not parts.hostname or parts.path or parts.query or "@" in parts.netloc:
            raise ImproperlyConfigured(f"{name} is a scheme and a host alone, such as {example}: no path, no user.")
        return url


def is_sound(url: str, schemes: Iterable[str]) -> bool:
    try:
        parts, hosts = split_hosts(url)
    except ValueError:
        return False
    has_rest_of_password = bool(parts.fragment) or "@" in parts.path + parts.query
    if parts.scheme.endswith("+sentinel") and not (all(hosts) and SENTINELS_PATH.fullmatch(parts.path)):
        return False
    return parts.scheme in schemes and "://" in url and all(map(HOST.fullmatch, hosts)) and not has_rest_of_password


env = Environment()
