"""What must hold after a run of chaos, by what callers saw, gateways received and callbacks told, and nothing else."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.chaos.callers import Answer, Record
from benchmarks.chaos.gateway import DOUBTFUL, REFUSING, Arrival, Callbacks

ORDER = ("queued", "sending", "sent", "success", "failed", "expired")
FINAL = frozenset(ORDER[3:])
# Between the service's last look at a code's time and the gateway's note of its arrival. 2.2 were seen with three such
# runs on two cores, where a process may wait that long for one.
ARRIVES_SECONDS = 3.0
MANUAL_SECONDS = 600.0  # the life of a manual send
IN_FLIGHT = 16  # messages that two workers of eight threads hold at once
FAULT_REACHES_SECONDS = 40.0  # after a fault's end until the leases that it cost are over
# What can hold a worker up between its look at a session and its call of the gateway.
HOLDS_A_CLAIM_UP = ("freeze worker", "freeze postgres", "freeze pgbouncer", "database", "wrong clock", "upgrade")


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    began_at: float  # seconds since 1970
    ended_at: float


@dataclass
class Verdict:
    broken: list[str]
    figures: dict[str, int]


def judge(
    record: Record,
    arrivals: Sequence[Arrival],
    callbacks: Callbacks,
    faults: Sequence[Fault],
    read_session: Callable[[str], Answer],
) -> Verdict:
    """Hold the run against the promises. ``read_session`` asks the service about one of its sessions."""
    broken = list(record.broken)
    by_message: dict[int, list[Arrival]] = defaultdict(list)
    by_recipient: dict[str, list[Arrival]] = defaultdict(list)
    for each in sorted(arrivals, key=lambda each: each.at):
        by_message[each.message].append(each)
        by_recipient[each.to].append(each)
    figures: Counter[str] = Counter(
        sessions=len(record.created), manual=len(record.sent), verified=record.verified, arrivals=len(arrivals)
    )
    _judge_sessions(record, by_recipient, faults, read_session, broken, figures)
    _judge_sent(record, by_message, callbacks, broken, figures)
    _judge_twice(by_message, faults, broken, figures)
    for to, accepted, _unknown in record.bursts:
        sent = {each.message for each in by_recipient[to]}
        if len(sent) > 5:
            broken.append(f"{len(sent)} messages went to {to}, where five are the limit ({accepted} were accepted)")
    return Verdict(broken, dict(figures))


def _judge_sessions(
    record: Record,
    arrived: dict[str, list[Arrival]],
    faults: Sequence[Fault],
    read_session: Callable[[str], Answer],
    broken: list[str],
    figures: Counter[str],
) -> None:
    holding = [fault for fault in faults if any(words in fault.name for words in HOLDS_A_CLAIM_UP)]
    for created in record.created:
        late = [each for each in arrived[created.to] if each.at > created.ends_at + ARRIVES_SECONDS]
        if late and _fault_between(created.ends_at, late[0].at, holding, reach=0.0):
            figures["late at a fault"] += 1
        elif late:
            figures["late"] += 1
            broken.append(f"the code of session {created.session} arrived {late[0].at - created.ends_at:.1f} s late")
        if arrived[created.to]:
            continue
        read = read_session(created.session)
        statuses = [each["status"] for each in read.body.get("messages", ())]
        if created.is_guessed and read.status == 200 and statuses and set(statuses) <= {"failed", "expired"}:
            figures["over before it was sent"] += 1
        else:
            figures["lost"] += 1
            broken.append(f"session {created.session} was accepted and nothing was sent: {read.status} {statuses}")


def _judge_sent(
    record: Record, arrived: dict[int, list[Arrival]], callbacks: Callbacks, broken: list[str], figures: Counter[str]
) -> None:
    for sent in record.sent:
        name, seen = f"message {sent.message}", sent.statuses
        last = seen[-1] if seen else ""
        if last not in FINAL:
            figures["lost"] += 1
            broken.append(f"{name} was accepted and never became final: {seen}")
            continue
        places = [ORDER.index(status) for status in seen]
        if places != sorted(places) or len(FINAL & set(seen)) > 1:
            broken.append(f"{name} went back: {seen}")
        if not arrived[sent.message]:
            figures["lost"] += 1
            broken.append(f"{name} was accepted, ended as {last}, and no gateway got it")
        late = [each for each in arrived[sent.message] if each.at > sent.answered_at + MANUAL_SECONDS]
        if late:
            figures["late"] += 1
            broken.append(f"{name} was sent after its time")
        told = [each["status"] for each in callbacks.told.get(sent.message, ())]
        figures["callbacks"] += len(told)
        if len(set(told)) > 1 or any(status != last for status in told):
            broken.append(f"{name} ended as {last} and callbacks told {told}")


def judge_callbacks(record: Record, callbacks: Callbacks, wanted: Sequence[int]) -> list[str]:
    """Return the messages whose end was asked to be told, and was not."""
    return [f"no callback told the end of message {each}" for each in wanted if each not in callbacks.told]


def _judge_twice(
    arrived: dict[int, list[Arrival]], faults: Sequence[Fault], broken: list[str], figures: Counter[str]
) -> None:
    """A further arrival follows refusals, doubtful answers of other providers, or a fault that it was in flight at.

    A provider whose answer left doubt is never asked again, so a provider's manners alone excuse no repetition there.
    """
    others = [fault for fault in faults if not fault.name.startswith("provider")]
    at_fault: Counter[int] = Counter()
    for message, found in arrived.items():
        for number, again in enumerate(found[1:], start=1):
            taken = [each for each in found[:number] if each.manner not in REFUSING]
            if not taken:
                figures["after a refusal"] += 1
            elif all(each.manner in DOUBTFUL and each.provider != again.provider for each in taken):
                figures["twice after a doubtful answer"] += 1
            elif place := _fault_between(taken[-1].at, again.at, others):
                figures["twice at a fault"] += 1
                at_fault[place] += 1
            else:
                broken.append(f"message {message} was sent twice without a reason: {taken} {again}")
    for place, count in at_fault.items():
        if count > IN_FLIGHT:
            broken.append(
                f"{count} messages were sent twice at {others[place - 1].name}, and {IN_FLIGHT} were in flight"
            )


def _fault_between(
    first: float, second: float, faults: Sequence[Fault], *, reach: float = FAULT_REACHES_SECONDS
) -> int:
    """Return the number, from 1, of a fault that touched the time between two arrivals; 0 if none did."""
    for number, fault in enumerate(faults, start=1):
        if fault.began_at - 1 <= second and fault.ended_at + reach >= first:
            return number
    return 0
