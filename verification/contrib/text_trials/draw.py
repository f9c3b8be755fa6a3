"""The draw that decides which of two texts a session gets."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from verification.core.caching import FRESH_SECONDS, FreshCache, cached_for
from verification.models import TextVariant
from verification.services.texts.rendering import OwnText

OF_HUNDRED = 100  # draws that are alike: a share is written in percent
_OCTETS = 4  # of the digest: 4 thousand million values, so a hundredth is off by less than 3 in 100 million


@dataclass(frozen=True, slots=True)
class _Trial:
    """A text that is tried on a share of the sessions, in percent."""

    id: int
    share: int
    text: OwnText


# Few projects try a text, so each process reads which, and then their trials alone. Both are at most a second old.
_trials: FreshCache[int, dict[tuple[str, str], _Trial]] = FreshCache()


def tried_text(project_id: int, channel: str, language: str, session_id: str) -> OwnText | None:
    """Return the text that is tried, if the session is among those that get it.

    A trial is of one language, without its regions.
    """
    if project_id not in _trying_projects():
        return None
    trial = _trials.get(project_id, lambda: _read_trials(project_id)).get((channel, language))
    return trial.text if trial and draw(trial.id, session_id) < trial.share else None


def draw(variant_id: int, session_id: str) -> int:
    """Return the session's number from 0 to 99 in this trial, as ``text_draw`` in sql/records does.

    Those below the trial's share get the second text. A session keeps its number, and in another trial it has another.
    """
    digest = hashlib.sha256(f"{variant_id}:{session_id}".encode()).digest()
    return int.from_bytes(digest[:_OCTETS]) % OF_HUNDRED


@cached_for(FRESH_SECONDS)
def _trying_projects() -> frozenset[int]:
    return frozenset(TextVariant.objects.order_by().values_list("project_id", flat=True).distinct())


def _read_trials(project_id: int) -> dict[tuple[str, str], _Trial]:
    return {
        (row.channel, row.language): _Trial(row.pk, row.share, OwnText(row.subject, row.text))
        for row in TextVariant.objects.filter(project_id=project_id)
    }
