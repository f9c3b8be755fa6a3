"""The worker process: threads that deliver what they are woken for, and a sweep that finds what nobody woke them for.

The sweep needs no broker. With the broker away, it alone delivers, a second or two later than usual.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from concurrent import futures
from queue import SimpleQueue
from typing import Any

import dramatiq
from django.db import close_old_connections, connections

from verification import addresses
from verification.services import dispatch, sweeping
from verification.services.rendering import languages
from verification.tasks import broker

log = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0
MAX_PAUSE_SECONDS = 5.0  # between two tries of a sweep that fails
IDLE_SECONDS = 1.0  # a message due for this long was forgotten by its wake-up
WIPE_SECONDS = 30.0
STOP_SECONDS = 10.0  # longer than a provider call may take
SWEEP_THREADS = 8


def run(*, threads: int) -> None:
    """Deliver with ``threads`` threads until SIGTERM or SIGINT; what is being sent then is finished first."""
    stopping = threading.Event()
    signals: SimpleQueue[int] = SimpleQueue()  # which, unlike an event, a signal handler may touch at any moment
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: signals.put(number))
    addresses.warm()
    languages()
    worker = dramatiq.Worker(broker, worker_threads=threads, worker_timeout=1000)
    sweeper = Sweeper(stopping)
    worker.start()
    sweeper.start()
    log.info("The worker is ready with %s threads.", threads)
    signals.get()
    log.info("The worker is stopping.")
    stopping.set()
    worker.stop(timeout=int(STOP_SECONDS * 1000))
    sweeper.join(STOP_SECONDS)
    connections.close_all()


class Sweeper(threading.Thread):
    """Every second: expire what is over, deliver what is due and forgotten, the freshest first."""

    def __init__(self, stopping: threading.Event) -> None:
        super().__init__(name="sweeper", daemon=True)
        self.stopping = stopping
        self.pool = futures.ThreadPoolExecutor(SWEEP_THREADS, thread_name_prefix="sweep")
        self.in_hand: set[futures.Future[None]] = set()
        self.expire_at = self.wipe_at = time.monotonic()

    def run(self) -> None:
        pause = 0.0
        while not self.stopping.wait(pause):
            try:
                pause = 0.0 if self._sweep() else SWEEP_SECONDS
            except Exception as error:  # the database may be away, or not migrated yet
                pause = min(max(SWEEP_SECONDS, 2 * pause), MAX_PAUSE_SECONDS)
                log.error("The sweep failed: %s. The next try is in %.0f s.", type(error).__name__, pause)
            finally:
                close_old_connections()
        self.pool.shutdown(wait=True)
        connections.close_all()

    def _sweep(self) -> bool:
        """Whether there may be more to do at once."""
        self._tidy()
        _, self.in_hand = futures.wait(self.in_hand, timeout=0)
        room = SWEEP_THREADS - len(self.in_hand)
        if not room:
            futures.wait(self.in_hand, timeout=SWEEP_SECONDS, return_when=futures.FIRST_COMPLETED)
            return True
        claimed = dispatch.claim_due(limit=room, idle_seconds=IDLE_SECONDS)
        self.in_hand.update(self.pool.submit(_deliver, message) for message in claimed)
        return len(claimed) == room

    def _tidy(self) -> None:
        """Now and then, also while there is much to deliver."""
        now = time.monotonic()
        if now >= self.expire_at:
            sweeping.expire_messages()
            self.expire_at = now + SWEEP_SECONDS
        if now >= self.wipe_at:
            sweeping.wipe_codes()
            self.wipe_at = now + WIPE_SECONDS


def _deliver(message: Any) -> None:
    try:
        dispatch.deliver_claimed(message)
    except Exception as error:  # its lease ends and it is claimed again
        log.error("message %s: delivery failed with %s", message.id, type(error).__name__)
    finally:
        close_old_connections()
