"""The worker process: threads that deliver the messages they are woken for, and pollers for all other work.

One poller is the sweep. It finds the messages whose wake-ups were lost, and needs no broker: while the broker is away,
the sweep alone delivers, a second or two later than usual.

A connections worker does the same, and holds the connections of those providers that send over one.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

import dramatiq
from django.db import DatabaseError, connections

from verification.core import addresses, process_figures
from verification.services.delivery import connections as connected
from verification.services.delivery import dispatch
from verification.services.delivery.fairness import RecentProjects, Shares
from verification.services.records import workers
from verification.services.texts.rendering import languages
from verification.worker import schedule
from verification.worker.broker import ThreadFigures, broker
from verification.worker.liveness import BEAT_SECONDS, Liveness
from verification.worker.tasks import deliver_connected, deliver_message

log = logging.getLogger(__name__)

STOP_SECONDS = 8.0  # how long calls may go on at the end: as long as a provider's call may take; `up` kills later


def run(*, threads: int, holds_connections: bool = False, alive_file: Path | None = None) -> None:
    """Deliver with ``threads`` threads until SIGTERM, SIGINT or SIGHUP; calls under way are finished first.

    Raises :class:`OSError` where ``alive_file`` cannot be written.
    """
    alive = Liveness(alive_file)
    stopping = threading.Event()
    signals: SimpleQueue[int] = SimpleQueue()  # unlike an event, safe in a signal handler
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # under nohup we stay
            signal.signal(number, lambda number, _: signals.put(number))
    addresses.keep_patterns()
    languages()
    actors = [deliver_message, deliver_connected] if holds_connections else [deliver_message]
    projects = RecentProjects()
    dispatch.start_offering(Shares(threads, projects))
    worker = dramatiq.Worker(
        broker, queues={actor.queue_name for actor in actors}, worker_threads=threads, worker_timeout=1000
    )
    row = workers.introduce(threads=threads, holds_connections=holds_connections)
    polling = schedule.pollers(stopping, projects, row)
    if holds_connections:
        polling.append(schedule.connection_poller(stopping))
        with suppress(DatabaseError):  # the poller tries again
            connected.keep_open()  # before the first message needs one
    if use := process_figures.start("worker", threads=threads):
        broker.add_middleware(ThreadFigures(use))
    worker.start()
    for poller in polling:
        poller.start()
    log.info("The worker is ready with %s threads.", threads)
    while not _came(signals, BEAT_SECONDS):
        alive.beat(polling)
    log.info("The worker is stopping.")
    stopping.set()
    for poller in polling:
        poller.wake.set()
    dispatch.stop_offering()
    give_up_at = time.monotonic() + STOP_SECONDS
    worker.stop(timeout=int(STOP_SECONDS * 1000))
    for poller in polling:
        poller.join(max(0.0, give_up_at - time.monotonic()))
    connected.close_all()
    with suppress(DatabaseError):  # without this, the worker counts as gone a minute later
        workers.leave(row)
    connections.close_all()
    alive.remove()


def _came(signals: SimpleQueue[int], seconds: float) -> bool:
    """Wait for a signal for this long."""
    try:
        signals.get(timeout=seconds)
    except Empty:
        return False
    return True
