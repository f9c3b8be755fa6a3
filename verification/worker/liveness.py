"""The file by which a worker shows that it runs. A probe looks at its age, and starts nothing of ours.

It asks neither the database nor the broker: a restart would bring back nothing that is away.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from verification.worker.poller import Poller

log = logging.getLogger(__name__)

BEAT_SECONDS = 5.0  # between two touches; the probes of deploy/helm and compose.yaml ask for one within a minute
# The time that a poller's round may take. An attempt to reach a machine that is gone takes Linux some 130 seconds, and
# a round may make several; one that takes longer hangs for good.
HANGS_SECONDS = 900.0


class LivenessFile:
    """Touched by :meth:`beat` while the pollers are at work. Without a ``path`` nothing is written."""

    def __init__(self, path: Path | None) -> None:
        """Make the file. Raises :class:`OSError` where it cannot be written."""
        self.path = path
        self.is_told = False
        if path:
            path.touch(mode=0o600)

    def beat(self, pollers: Sequence[Poller[Any]]) -> None:
        if not self.path:
            return
        hanging = [each.name for each in pollers if not each.is_at_work(HANGS_SECONDS)]
        if not hanging:
            self.path.touch()
        elif not self.is_told:
            self.is_told = True
            log.error("The worker hangs; these parts no longer respond: %s.", ", ".join(hanging))

    def remove(self) -> None:
        if self.path:
            self.path.unlink(missing_ok=True)
