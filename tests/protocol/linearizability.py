"""Whether an order of concurrent calls exists in which the model gives the answers that the clients saw.

A history is *linearizable* (Herlihy & Wing, "Linearizability: a correctness condition for concurrent objects", ACM
TOPLAS 12(3), 1990) if each call can be taken to happen at one moment between its start and its end. The search is
that of Wing & Gong ("Testing and verifying concurrent objects", J. Parallel Distrib. Comput. 17, 1993) with the memory
of Lowe ("Testing for linearizability", Concurrency Computat. Pract. Exper. 29(4), 2017): calls that led to a state once
are not followed from it again. Knossos, Jepsen's checker, does the same. Linearizability is local (Herlihy & Wing,
theorem 1), so each recipient's calls are judged by themselves, which keeps the search short.

Elle (Kingsbury & Alvaro, VLDB 2020) is for transactions over many objects; ours are calls on one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from tests.protocol.model import Call

State = TypeVar("State")
Step = Callable[[State, Call], Iterable[State]]


class Timed(NamedTuple):
    """A call between two moments of one clock. ``end`` is infinite for one whose answer never came.

    ``is_certain`` is false for such a call: it may never have happened at all.
    """

    start: float
    end: float
    call: Call
    is_certain: bool = True


class Verdict(NamedTuple):
    """``order``: the calls in an order that explains them, or the longest part of one that was found."""

    is_explained: bool
    order: list[Call]
    visited: int


def explain(
    history: Sequence[Timed],
    first: State,
    step: Step[State],
    *,
    inner: Callable[[State], Iterable[State]] = lambda state: (),
    is_end: Callable[[State], bool] = lambda state: True,
) -> Verdict:
    """Search an order of the history that ``step`` allows from the state ``first`` on.

    ``inner`` returns the states that a state may turn into by itself, at any moment. ``is_end`` says whether a state
    can be the last one.
    """
    calls = sorted(history, key=lambda each: each.start)
    all_certain = sum(1 << place for place, each in enumerate(calls) if each.is_certain)
    stack: list[tuple[int, State, tuple[int, ...]]] = [(0, first, ())]
    seen = {(0, first)}
    longest: tuple[int, ...] = ()
    while stack:
        done, state, order = stack.pop()
        if len(order) > len(longest):
            longest = order
        if done & all_certain == all_certain and is_end(state):
            return Verdict(True, [calls[place].call for place in order], len(seen))
        following: list[tuple[int, State, tuple[int, ...]]] = [(done, turned, order) for turned in inner(state)]
        for place in _next_ones(calls, done):
            for reached in step(state, calls[place].call):
                following.append((done | 1 << place, reached, (*order, place)))
        for each in following:
            if each[:2] not in seen:
                seen.add(each[:2])
                stack.append(each)
    return Verdict(False, [calls[place].call for place in longest], len(seen))


def _next_ones(calls: Sequence[Timed], done: int) -> list[int]:
    """Return the calls that can come next: those that began before any other that is left had ended."""
    left = [place for place in range(len(calls)) if not done >> place & 1]
    first_end = min((calls[place].end for place in left), default=0.0)
    return [place for place in left if calls[place].start <= first_end]
