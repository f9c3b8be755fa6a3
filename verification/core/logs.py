"""A log line for each refusal. With it the operator answers a customer who names the request's id.

The line tells the code, the project and the endpoint. It leaves out what was sent, and from where. It also leaves out
the rest of the path, which may hold anything, and on webhooks a secret.
"""

from __future__ import annotations

import logging
import time

from django.http import HttpRequest

from verification.core.caching import Memory

log = logging.getLogger(__name__)

# Lines that one process writes in a second: enough to find a customer's, and a flood of bad requests does not flood the
# log. A count tells how many more there were.
LINES_A_SECOND = 50
METHODS = ("GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE")  # any other word is the caller's own


class LineBudget(Memory):
    """The lines left in this second, and how many had none, which ``limits`` does not tell.

    Threads that meet here may let a few more through, which does no harm.
    """

    def forget(self) -> None:
        self.second = 0
        self.asked = 0

    def take(self, now: float) -> tuple[bool, int]:
        """Take one line. Return whether it may be written, and the number left out in the second before."""
        second = int(now)
        left_out = 0
        if second != self.second:
            left_out = max(0, self.asked - LINES_A_SECOND)
            self.second, self.asked = second, 0
        self.asked += 1
        return self.asked <= LINES_A_SECOND, left_out


allowance = LineBudget()
unserved = LineBudget()


def may_log() -> bool:
    """Take the line of one refusal, and write how many had none in the second before."""
    is_left, left_out = allowance.take(time.monotonic())
    if left_out:
        log.info("%s refusals were not logged, as there were more than %s in a second.", left_out, LINES_A_SECOND)
    return is_left


def logged_path(request: HttpRequest | None) -> str:
    """Return the endpoint without what stands in its path."""
    match = request.resolver_match if request else None
    return f"/{match.route}" if match else "unknown"


def log_refusal(request: HttpRequest, *, code: str, status: int) -> None:
    if not (log.isEnabledFor(logging.INFO) and may_log()):
        return
    fields = {
        "request_id": getattr(request, "id", "-"),
        "code": code,
        "status": status,
        "method": request.method if request.method in METHODS else "other",
        "path": logged_path(request),
        "project": getattr(request, "project_id", None),
    }
    log.info("refused", extra=fields)


def log_unserved(reason: str, *, request_id: str, endpoint: str) -> None:
    """Log that a request found the database away or busy, which many do at once: within the same number of lines."""
    is_left, left_out = unserved.take(time.monotonic())
    if left_out:
        words = "%s more requests found the database away or busy and were not logged"
        log.error(f"{words}, as there were more than %s in a second.", left_out, LINES_A_SECOND)
    if is_left:
        fields = {"request_id": request_id, "path": endpoint, "error": reason}
        log.error("the database does not answer or is busy", extra=fields)


class ForgedForms(logging.Filter):
    """Of forms without their token: no more lines than of other refusals, and the page without its path's secrets."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple) and len(record.args) == 2:  # the reason and the path
            record.args = record.args[0], logged_path(getattr(record, "request", None))
        return may_log()
