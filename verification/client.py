"""Where a request comes from."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The caller's address. ``X-Forwarded-For`` counts only as far as our own proxies wrote it."""
    hops: int = settings.TRUSTED_PROXIES
    if hops:
        forwarded = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
        if len(forwarded) >= hops and forwarded[-hops]:
            return str(forwarded[-hops])
    return str(request.META.get("REMOTE_ADDR", ""))


def client_ip(request: HttpRequest) -> str | None:
    """As :func:`client_address`; None where that is not an IP address, as behind a Unix socket."""
    try:
        return str(ipaddress.ip_address(client_address(request).partition("%")[0]))  # without an interface's name
    except ValueError:
        return None
