"""The worker process: threads that deliver what they are woken for, and a sweep that finds what nobody woke them for.

The sweep needs no broker. With the broker away, it alone delivers, a second or two later than usual.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import dramatiq
from django.db import close_old_connections, connections

from verification import addresses
from verification.services import dispatch, sweeping
from verification.services.rendering import languages
from verification.tasks import broker

log = logging.getLogger(__name__)

SWEEP_SECONDS = 1.0
IDLE_SECONDS = 1.0  # a message due for this long was forgotten by its wake-up
WIPE_SECONDS = 30.0
STOP_SECONDS = 10.0  # longer than a provider call may take
SWEEP_THREADS = 8


def run(*, threads: int) -> None:
    """Deliver with ``threads`` threads until SIGTERM or SIGINT; what is being sent then is finished first."""
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    addresses.warm()
    languages()
    worker = dramatiq.Worker(broker, worker_threads=threads, worker_timeout=1000)
    sweeper = Sweeper(stopping)
    worker.start()
    sweeper.start()
    log.info("The worker is ready with %s threads.", threads)
    stopping.wait()
    log.info("The worker is stopping.")
    worker.stop(timeout=int(STOP_SECONDS * 1000))
    sweeper.join(STOP_SECONDS)
    connections.close_all()


class Sweeper(threading.Thread):
    """Every second: expire what is over, deliver what is due and forgotten, the freshest first."""

    def __init__(self, stopping: threading.Event) -> None:
        super().__init__(name="sweeper", daemon=True)
        self.stopping = stopping
        self.pool = ThreadPoolExecutor(SWEEP_THREADS, thread_name_prefix="sweep")
        self.in_hand: set[Future[None]] = set()
        self.wiped_at = 0.0

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                is_busy = self._sweep()
            except Exception as error:  # the database may be away; the next round tries again
                log.error("The sweep failed: %s", type(error).__name__)
                is_busy = False
            finally:
                close_old_connections()
            if not is_busy:
                self.stopping.wait(SWEEP_SECONDS)
        self.pool.shutdown(wait=True)
        connections.close_all()

    def _sweep(self) -> bool:
        """Whether there may be more to do at once."""
        sweeping.expire_messages()
        if time.monotonic() - self.wiped_at > WIPE_SECONDS:
            sweeping.wipe_codes()
            self.wiped_at = time.monotonic()
        self.in_hand = {future for future in self.in_hand if not future.done()}
        room = SWEEP_THREADS - len(self.in_hand)
        if not room:
            self.stopping.wait(0.05)
            return True
        claimed = dispatch.claim_due(limit=room, idle_seconds=IDLE_SECONDS)
        self.in_hand.update(self.pool.submit(_deliver, message) for message in claimed)
        return len(claimed) == room


def _deliver(message: Any) -> None:
    try:
        dispatch.deliver_claimed(message)
    except Exception as error:  # its lease ends and it is claimed again
        log.error("message %s: delivery failed with %s", message.id, type(error).__name__)
    finally:
        close_old_connections()
