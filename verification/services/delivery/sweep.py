"""The sweep: expire messages, wipe codes, and deliver what nobody was woken for."""

from __future__ import annotations

from verification import sql
from verification.services.delivery import dispatch
from verification.services.protection.guard import findings
from verification.services.sessions import bot_updates

BATCH = 2_000  # rows of one statement, so that none holds many locks for long; a backlog takes several


def sweep_once(*, limit: int) -> dict[str, int]:
    """Do one whole round, and return its counts. It delivers up to ``limit`` messages, one after the other."""
    findings.sweep()
    counts = {"expired": expire_messages(), "wiped": wipe_codes(), "updates": bot_updates.act_on_all(), "delivered": 0}
    while counts["delivered"] < limit and (claimed := dispatch.claim_due(limit=1, idle_seconds=0)):
        dispatch.deliver_claimed(claimed[0])
        counts["delivered"] += 1
    return counts


def expire_messages() -> int:
    """Close every message whose time is over, without asking a provider, and return their number."""
    return _in_batches("expire_messages")


def raise_budget_alerts() -> int:
    """Alert the owners whose budgets of the day are running out, and return the number of new alerts."""
    raised: int = sql.value("raise_budget_alerts")
    return raised


def wipe_codes() -> int:
    """Wipe the codes of sessions that are over, and return the number of sessions."""
    return _in_batches("wipe_codes")


def _in_batches(function: str) -> int:
    total = 0
    while True:
        done: int = sql.value(function, limit=BATCH)
        total += done
        if done < BATCH:
            return total
