"""An adapter that prints each message on standard output: for a first try on one's own machine."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from providers import base
from providers.base import OutgoingMessage


def line_of(message: OutgoingMessage) -> str:
    """Return a message as one line of printable characters."""
    text = " ".join("".join(c if c.isprintable() else " " for c in message.text).split())
    return f"[watchword] {message.channel} to {message.to}: {text}"


class Adapter(base.Adapter):
    type = "console"
    label = _("Console (prints messages, for development)")
    channels = base.CHANNELS
    is_local = True
    shows_codes = True

    def send(self, message: base.OutgoingMessage) -> base.Result:
        print(line_of(message), flush=True)
        return base.Result.accepted(is_delivered=True)

    def check(self) -> base.Health:
        return base.Health(True, "Messages are printed on the worker's standard output.")
