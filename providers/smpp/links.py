"""The binds to one message centre: kept up, and shared by all threads that send.

A lost bind is made anew, after a pause that grows while that fails. We answer a receipt only after it was stored. So
the centre keeps what we could not store, and delivers it again.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from providers.base import HookEvent, Outcome
from providers.errors import NotConnected, ProviderError
from providers.http.deadline import Deadline
from providers.smpp.pdu import Command, Pdu, Status, Unreadable
from providers.smpp.session import UNBIND_SECONDS, Refused, SmppSession, dial

log = logging.getLogger(__name__)

# The pause between two tries to bind: it doubles from the first to the longest.
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.5, 60.0
# The time for which a bind must hold before the pauses begin anew.
STEADY_SECONDS = 60.0
# The time for which a message waits for a bind that was just lost, or is being made for the first time.
GRACE_SECONDS = 2.0
# The time for which a message waits for room in the window and under the rate.
SLOT_SECONDS = 2.0
# The time for which we send nothing to a centre that is throttling us: it doubles from the first to the longest.
FIRST_THROTTLE_SECONDS, MAX_THROTTLE_SECONDS = 0.5, 5.0
# The most receipts that are stored in one go.
REPORT_BATCH = 100
# The most receipts that wait to be stored. We refuse any more, and the centre delivers them later.
MAX_UNREPORTED = 1_000
# The time between two reports of the state, even if it does not change.
STATE_INTERVAL_SECONDS = 15.0
# The time for which closing waits for answers and receipts.
CLOSE_SECONDS = 5.0

THROTTLED = frozenset({Status.THROTTLED, Status.QUEUE_FULL})


@dataclass(frozen=True, slots=True)
class BindConfig:
    """The message centre, and how to bind to it.

    ``binds`` names one command for each bind. ``rate`` is in messages a second over all binds, 0 for no limit.
    ``window`` is the number of messages that may be unanswered on each. ``refusal`` explains a status.
    """

    host: str
    port: int
    is_tls: bool
    allowed_networks: Sequence[str]
    binds: Sequence[Command]
    bind_body: bytes = field(repr=False)
    window: int
    rate: float
    enquire_seconds: float
    refusal: Callable[[int], ProviderError]

    def open(self, command: Command, on_message: Callable[[SmppSession, Pdu], None]) -> SmppSession:
        """Return a bound session. Raises :class:`ProviderError`."""
        connected = dial(self.host, self.port, is_tls=self.is_tls, allowed_networks=self.allowed_networks)
        session = SmppSession(connected, on_message, enquire_seconds=self.enquire_seconds)
        try:
            session.bind(command, self.bind_body)
        except Refused as refused:
            session.end("the bind was refused")
            raise self.refusal(refused.status) from None
        except ProviderError:
            session.end("no answer to the bind")
            raise
        return session


class BindPool:
    """The binds of one provider, each kept up by a thread of its own.

    ``name`` is the provider's, for the log. ``read`` turns a delivered PDU into an event, or None if it holds none.
    ``report`` stores events; it raises if it could not, and returns whether that changed what there is to tell of the
    state. ``report_state`` gets the number of binds that are up and, if
    some are not, the reason. It must not raise.
    """

    def __init__(
        self,
        plan: BindConfig,
        *,
        name: str,
        read: Callable[[Pdu], HookEvent | None],
        report: Callable[[list[HookEvent]], bool],
        report_state: Callable[[int, str], None],
    ) -> None:
        self.plan = plan
        self._name, self._read, self._report, self._report_state = name, read, report, report_state
        self._changed = threading.Condition()
        self._bound: dict[SmppSession, Command] = {}
        self._lost_at = time.monotonic()
        self._problem: ProviderError = NotConnected("no bind to the message centre")
        self._next_at = 0.0  # when the rate lets the next message leave
        self._resume_at = 0.0  # when a centre that throttled us is asked again
        self._throttle_seconds = 0.0
        self._closing = threading.Event()
        self._unreported: queue.Queue[tuple[SmppSession, Pdu] | None] = queue.Queue(MAX_UNREPORTED)
        self._threads = [
            threading.Thread(target=self._keep_bound, args=(command,), daemon=True) for command in plan.binds
        ]
        self._reporter = threading.Thread(target=self._report_receipts, daemon=True)
        for thread in (*self._threads, self._reporter):
            thread.start()

    def submit(self, bodies: Sequence[bytes]) -> Pdu:
        """Send the parts of one message over one bind. Return the answer to the last part, or to the first refused.

        Raises :class:`ProviderError`, with an unknown outcome if no answer came.
        """
        session = self._take_slot(len(bodies))
        try:
            for body in bodies:
                answer = session.request(Command.SUBMIT_SM, body)
                self._back_off(answer.status)
                if answer.status:
                    break
        finally:
            self._give_back(session)
        return answer

    def close(self) -> None:
        """Wait for the answers to messages under way, store the receipts, and unbind."""
        self._closing.set()
        deadline = time.monotonic() + CLOSE_SECONDS
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(lambda: not any(session.in_flight for session in self._bound), CLOSE_SECONDS)
            bound = list(self._bound)
        with suppress(queue.Full):
            self._unreported.put(None, timeout=CLOSE_SECONDS)
        self._reporter.join(max(0.0, deadline - time.monotonic()))
        for session in bound:
            session.unbind()
        for thread in self._threads:
            thread.join(max(UNBIND_SECONDS, deadline - time.monotonic()) / len(self._threads))
        for session in bound:
            session.end("no answer to our unbind")

    def _take_slot(self, messages: int) -> SmppSession:
        """Return a bind with room in its window, with that room taken. Wait a moment for it, and for the rate."""
        try:
            deadline = time.monotonic() + Deadline(SLOT_SECONDS).left()
        except TimeoutError:
            raise NotConnected("there was no time left to ask the message centre") from None
        with self._changed:
            while True:
                now = time.monotonic()
                able = [session for session, command in self._bound.items() if command != Command.BIND_RECEIVER]
                free = [session for session in able if session.in_flight < self.plan.window]
                if self._closing.is_set():
                    raise NotConnected("the connection to the message centre is being closed")
                if not able and now >= self._lost_at + GRACE_SECONDS:
                    raise ProviderError(str(self._problem), self._problem.outcome)
                may_leave_at = max(self._next_at, self._resume_at)
                if free and now >= may_leave_at:
                    chosen = min(free, key=lambda session: session.in_flight)
                    chosen.in_flight += 1
                    if self.plan.rate:
                        self._next_at = now + messages / self.plan.rate
                    return chosen
                if now >= deadline:
                    raise ProviderError("the message centre accepts no more messages right now", Outcome.RATE_LIMITED)
                self._changed.wait((min(deadline, may_leave_at) if free else deadline) - now)

    def _give_back(self, session: SmppSession) -> None:
        with self._changed:
            session.in_flight -= 1
            self._changed.notify_all()

    def _back_off(self, status: int) -> None:
        """Pause for a centre that throttles us, longer each time, until it takes a message again."""
        with self._changed:
            now = time.monotonic()
            if status not in THROTTLED:
                self._throttle_seconds = 0.0
            elif now >= self._resume_at:  # messages under way at the same time lengthen the pause only once
                longer = max(FIRST_THROTTLE_SECONDS, 2 * self._throttle_seconds)
                self._throttle_seconds = min(longer, MAX_THROTTLE_SECONDS)
                self._resume_at = now + self._throttle_seconds

    def _keep_bound(self, command: Command) -> None:
        """Keep one bind up, in a thread of its own."""
        pause = FIRST_PAUSE_SECONDS
        while not self._closing.is_set():
            try:
                session = self.plan.open(command, self._queue_delivered)
                began_at = time.monotonic()
                self._use_until_lost(session, command)
                if time.monotonic() - began_at > STEADY_SECONDS:
                    pause = FIRST_PAUSE_SECONDS
            except ProviderError as error:
                self._fail(error)
            except Exception as error:  # a fault of ours must not end the bind for good
                self._fail(NotConnected(f"the bind failed ({type(error).__name__})"))
            # A random pause keeps binds and installations from trying at the same moment.
            self._closing.wait(pause * random.uniform(0.5, 1.0))  # noqa: S311  (nothing to be guessed)
            pause = min(2 * pause, MAX_PAUSE_SECONDS)

    def _use_until_lost(self, session: SmppSession, command: Command) -> None:
        with self._changed:
            self._bound[session] = command
            self._changed.notify_all()
        if self._closing.is_set():  # `close` did not see this bind
            session.hang_up()
        self._tell_state()
        kind = command.name.removeprefix("BIND_").lower()
        log.info("%s: bound to the message centre %s as %s.", self._name, self.plan.host, kind)
        session.serve()
        with self._changed:
            del self._bound[session]
            self._lost_at = time.monotonic()
            self._problem = NotConnected(f"the connection to the message centre is lost: {session.ending}")
            self._changed.notify_all()
        self._tell_state()
        log.log(
            logging.INFO if self._closing.is_set() else logging.WARNING,
            "%s: the bind to the message centre %s is over: %s.",
            self._name,
            self.plan.host,
            session.ending,
        )

    def _fail(self, error: ProviderError) -> None:
        is_new = str(error) != str(self._problem)
        with self._changed:
            self._problem = error
            self._changed.notify_all()
        self._tell_state()
        level = logging.WARNING if is_new else logging.INFO
        log.log(level, "%s: no bind to the message centre %s: %s", self._name, self.plan.host, error)

    def _tell_state(self) -> None:
        bound = len(self._bound)
        self._report_state(bound, "" if bound == len(self.plan.binds) else str(self._problem))

    def _queue_delivered(self, session: SmppSession, pdu: Pdu) -> None:
        """Queue what the centre delivered. The session's thread calls this, and must read on at once."""
        try:
            self._unreported.put_nowait((session, pdu))
        except queue.Full:
            session.answer(pdu, Status.RECEIVER_TEMPORARY)

    def _report_receipts(self) -> None:
        """Store receipts and answer them, in a thread of its own, up to a batch at a time."""
        batch: list[tuple[SmppSession, Pdu] | None] = []
        while None not in batch:
            batch = []
            with suppress(queue.Empty):
                batch.append(self._unreported.get(timeout=STATE_INTERVAL_SECONDS))
                while len(batch) < REPORT_BATCH:
                    batch.append(self._unreported.get_nowait())
            if not batch:
                self._tell_state()
            self._store_and_answer([delivered for delivered in batch if delivered is not None])
        self._report_state(0, "the worker closed the connection")

    def _store_and_answer(self, delivered: list[tuple[SmppSession, Pdu]]) -> None:
        events: list[HookEvent] = []
        waiting = []
        for session, pdu in delivered:
            try:
                event = self._read(pdu)
            except Unreadable:
                session.answer(pdu, Status.RECEIVER_PERMANENT)
                continue
            if event is None:
                session.answer(pdu)
            else:
                events.append(event)
                waiting.append((session, pdu))
        status = Status.OK
        try:
            if events and self._report(events):
                self._tell_state()
        except Exception as error:  # the database may be away
            status = Status.RECEIVER_TEMPORARY
            log.warning(
                "%s: %s receipts could not be stored (%s); they will come again.",
                self._name,
                len(events),
                type(error).__name__,
            )
        for session, pdu in waiting:
            session.answer(pdu, status)
