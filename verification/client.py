"""Where a request comes from."""

import ipaddress
import re

from django.conf import settings
from django.http import HttpRequest

_WITH_PORT = re.compile(r"\[(?P<ipv6>[^\[\]]*)\](?::[0-9]*)?|(?P<ipv4>[0-9.]*):[0-9]*")


def client_address(request: HttpRequest) -> str:
    """The caller's IP address. ``X-Forwarded-For`` counts only as far as our own proxies wrote it.

    Empty where it cannot be told: behind a Unix socket, or where a proxy wrote no address. It is then not the proxy's
    own, which would be a neighbour's, for whom most limits do not hold; all such callers share one stranger's limits.
    """
    hops: int = settings.TRUSTED_PROXIES
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR") if hops else None
    if forwarded is None:
        return _read(request.META.get("REMOTE_ADDR", ""))
    entries = forwarded.split(",")
    return _read(entries[-min(hops, len(entries))])  # where there are fewer than proxies, our own wrote them all


def client_ip(request: HttpRequest) -> str | None:
    """As :func:`client_address`, without the name of an interface; None where it cannot be told."""
    return client_address(request).partition("%")[0] or None


def _read(text: str) -> str:
    """An address as proxies write it, some with the port. Empty for anything else."""
    text = text.strip()
    if found := _WITH_PORT.fullmatch(text):
        text = found["ipv6"] or found["ipv4"] or ""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""


def announced_length(request: HttpRequest) -> int:
    """The length of the body in bytes, as its sender tells it; 0 for one without."""
    text = request.META.get("CONTENT_LENGTH") or ""
    return int(text) if text.isascii() and text.isdigit() else 0
