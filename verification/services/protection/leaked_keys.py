"""Secret keys in the wrong place: a call with an origin comes from a browser."""

from __future__ import annotations

from django.utils import timezone

from verification.core.caching import Cooldown
from verification.services.notifications import alerts
from verification.services.projects.keys import Caller

ORIGIN_SHOWN_CHARACTERS = 100

DAY_SECONDS = 24 * 60 * 60  # an alert of a day is remembered for that long; the next day's has another key
MAX_REMEMBERED = 10_000  # alerts of a day that a process remembers; it raises any others again, which changes nothing
# By key and day: the alerts that this process raised. It only spares the database, as the alert's row is unique.
_alerted = Cooldown(MAX_REMEMBERED)


def alert_on_browser(caller: Caller, origin: str) -> None:
    """Tell the owner, once a day, that a secret key came with an origin: browsers send one, so it is in a page."""
    today = timezone.now().date()
    if _alerted.left((caller.key_id, today)):
        return
    alerts.raise_alert(
        project_id=caller.project.id,
        kind="secret_key_in_browser",
        key=f"{caller.key_id} {today}",
        title="A secret key is used in a browser",
        detail=f"A request with the secret key {caller.key_id} came from the origin "
        f"{origin[:ORIGIN_SHOWN_CHARACTERS]!r}; only browsers send an origin. Anyone who opens that page can "
        "read the key. Remove it from the page, where an API key is enough, and rotate it. If your own server "
        "forwards the Origin header, stop it from doing so.",
    )
    _alerted.begin((caller.key_id, today), seconds=DAY_SECONDS)
