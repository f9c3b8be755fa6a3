"""The length that a request announces for its body."""

from django.http import HttpRequest


def announced_length(request: HttpRequest) -> int:
    """Return the length of the body in bytes, as its sender tells it; 0 where none is told."""
    text = request.META.get("CONTENT_LENGTH") or ""
    return int(text) if text.isascii() and text.isdigit() else 0
