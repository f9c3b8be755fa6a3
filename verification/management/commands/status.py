"""``status``"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.conf import settings

from verification.core.errors import UserError
from verification.management.base import WatchwordCommand, table
from verification.management.commands.stats import describe
from verification.services.maintenance import degradation, health


class Command(WatchwordCommand):
    help = "Show the state of the service: processes, versions, queues, paused providers, latest recurring tasks."
    epilog = (
        "The exit code is also 0 while something is degraded. It is 1 if the database does not answer or is not up to "
        "date.\n\n"
        "examples:\n"
        "  manage.py status\n"
        "  manage.py status --json"
    )

    def handle(self, *, json: bool, **_: Any) -> None:
        now = degradation.current()  # first: its error says why the database is away, in one line
        if reason := health.failing():
            raise UserError(reason)
        data = as_dict(now)
        self.show(data, as_text(data), as_json=json)


def as_dict(now: degradation.Condition) -> dict[str, Any]:
    return {
        "version": settings.VERSION,
        "degraded": now.meanings,
        "workers": [describe(worker) for worker in now.workers],
        "messages": {"due": now.messages.depth, "oldest_seconds": _seconds(now.messages), "claimed": now.being_sent},
        "callbacks": {"due": now.callbacks.depth, "oldest_seconds": _seconds(now.callbacks)},
        "wake_ups": now.wake_ups,
        "providers_aside": [
            {
                "provider": each.provider_id,
                "name": each.provider.name,
                "since": _iso(each.opened_at),
                "until": _iso(each.open_until),
                "reason": each.reason,
                "is_alone": each in now.alone,
            }
            for each in now.aside
        ],
        "limits": [asdict(each) for each in now.limits],
        "stopped": list(now.stopped),
        "last_purge": _iso(now.last_purge),
        "last_guard_sweep": _iso(now.last_guard_sweep),
        "last_backup": _iso(now.last_backup),
        "clock_ahead_seconds": round(now.clock_ahead, 3),
    }


def as_text(data: dict[str, Any]) -> str:
    """Lay the condition out as lines, and what is degraded last, where it is seen."""
    messages, callbacks, wake_ups = data["messages"], data["callbacks"], data["wake_ups"]
    rows = [
        ("Version", data["version"]),
        *(("Worker", _worker(row)) for row in data["workers"]),
        ("Messages due", f"{messages['due']}, the oldest for {messages['oldest_seconds']} s"),
        ("Messages being sent", str(messages["claimed"])),
        ("Callbacks due", f"{callbacks['due']}, the oldest for {callbacks['oldest_seconds']} s"),
        ("Wake-ups", "the broker takes none" if wake_ups is None else str(sum(wake_ups.values()))),
        *(("Paused providers", _aside(row)) for row in data["providers_aside"]),
        *(("Limit", _limit(row)) for row in data["limits"]),
        *(("Stopped by a kill switch", name) for name in data["stopped"]),
        ("Last purge", data["last_purge"] or "none yet"),
        ("Last sweep of the guard", data["last_guard_sweep"] or "none yet"),
        ("Last `backup`", data["last_backup"] or "none yet"),
        ("Clock", _clock(data["clock_ahead_seconds"])),
    ]
    degraded = [(name, meaning) for name, meaning in data["degraded"].items()]
    text = table(("WHAT", "NOW"), rows)
    return f"{text}\n\n{table(('DEGRADED', 'MEANING'), degraded)}" if degraded else f"{text}\n\nNothing is degraded."


def _worker(row: dict[str, Any]) -> str:
    kinds = ", ".join(row["kinds"])
    return f"{row['host']} process {row['pid']}, version {row['version']}: {kinds}, {row['threads']} threads"


def _aside(row: dict[str, Any]) -> str:
    alone = ", and no other provider takes over" if row["is_alone"] else ""
    return f"{row['name']} until {row['until']}{alone}: {row['reason']}"


def _limit(row: dict[str, Any]) -> str:
    where = f"{row['project']}, {row['channel']}" if row["channel"] else row["project"]
    return f"{where}: {row['words']} ({row['limit']})"


def _clock(ahead: float) -> str:
    """Tell a difference of a tenth of a second or more: less is the time that the question took."""
    if abs(ahead) < 0.1:
        return "the same as the database's"
    return f"{abs(ahead):.1f} s {'ahead of' if ahead > 0 else 'behind'} the database's"


def _seconds(queue: degradation.Queue) -> float:
    return round(queue.age, 1)


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
