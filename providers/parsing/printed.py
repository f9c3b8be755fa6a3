"""A message as a line for whoever tries the service on their own machine."""

from providers.base import OutgoingMessage


def line_of(message: OutgoingMessage) -> str:
    """Return a message as one line of printable characters."""
    text = " ".join("".join(c if c.isprintable() else " " for c in message.text).split())
    return f"[watchword] {message.channel} to {message.to}: {text}"
