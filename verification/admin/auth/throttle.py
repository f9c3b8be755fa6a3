"""The limits of failed logins. django-axes counts them in the database."""

from __future__ import annotations

from typing import Any

from axes.handlers.database import AxesDatabaseHandler
from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth.models import User
from django.db.models import Sum
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from verification.core.client_address import client_address
from verification.services.protection.client_networks import UNKNOWN_NETWORK, network_of

# Failures within AXES_COOLOFF_TIME that lock, by what they have in common; the order of AXES_LOCKOUT_PARAMETERS.
PER_USER_AND_ADDRESS = 5
PER_USER = 30  # from many addresses; higher, as anybody who knows a name could lock its owner out
PER_ADDRESS = 50  # of many users: an office shares one


class LoginThrottle(AxesDatabaseHandler):
    def get_failures(self, request: HttpRequest, credentials: dict[str, Any] | None = None) -> int:
        """Return 1, which is AXES_FAILURE_LIMIT, where a limit is reached: django-axes itself knows one number."""
        limits = (PER_USER_AND_ADDRESS, PER_USER, PER_ADDRESS)
        counted = (
            rows.aggregate(total=Sum("failures_since_start"))["total"] or 0
            for rows in self.get_user_attempts(request, credentials)
        )
        return int(any(total >= limit for total, limit in zip(counted, limits, strict=True)))


def client_network(request: HttpRequest) -> str | None:
    """Return the network whose failures are counted together, as an address.

    It is an IPv4 address, or the /64 of an IPv6 address, which is one subscriber's.
    """
    network = network_of(client_address(request))
    return None if network == UNKNOWN_NETWORK else network.partition("/")[0]


def client_username(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str | None:
    """Return the name whose failures are counted together, as the table has it.

    A name that is no user's may be a mistyped password. So a keyed hash stands there in its place.
    """
    typed: str | None = (credentials or request.POST).get("username")
    if typed is None or ("\0" not in typed and User.objects.filter(username=typed).exists()):
        return typed
    return salted_hmac(__name__, typed, algorithm="sha256").hexdigest()


def is_locked(request: HttpRequest, username: str) -> bool:
    """Return whether the user is locked out from this client, for the steps that come without a password."""
    return not AxesProxyHandler.is_allowed(request, {"username": username})
