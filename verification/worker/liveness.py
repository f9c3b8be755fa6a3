"""What a worker shows of its life: a file whose age a probe looks at, systemd's watchdog, and a line in the log.

It asks neither the database nor the broker: a restart would bring back nothing that is away.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gunicorn import systemd

from verification.worker.poller import Poller

log = logging.getLogger(__name__)

BEAT_SECONDS = (
    5.0  # between two beats; the probes of deploy/helm and compose.yaml and systemd ask for one within a minute
)
# The time that a poller's round may take. An attempt to reach a machine that is gone takes Linux some 130 seconds, and
# a round may make several; one that takes longer hangs for good.
HANGS_SECONDS = 900.0


class Liveness:
    """Shown by :meth:`beat` while the pollers are at work. Without a ``path`` no file is written."""

    def __init__(self, path: Path | None) -> None:
        """Make the file. Raises :class:`OSError` where it cannot be written."""
        self.path = path
        self.is_told = False
        if path:
            path.touch(mode=0o600)

    def beat(self, pollers: Sequence[Poller[Any]]) -> None:
        hanging = [each.name for each in pollers if not each.is_at_work(HANGS_SECONDS)]
        if not hanging:
            if self.path:
                self.path.touch()
            systemd.sd_notify("WATCHDOG=1", log)  # nothing without systemd
        elif not self.is_told:
            self.is_told = True
            log.error("The worker hangs; these parts no longer respond: %s.", ", ".join(hanging))

    def remove(self) -> None:
        if self.path:
            self.path.unlink(missing_ok=True)
