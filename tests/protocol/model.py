"""What the interface promises for one recipient, by the specification and its contract, without the service's code.

A state is all that calls about one recipient may depend on. :func:`after` takes a state and a call with the answer that
a client saw, and returns the states that this answer leaves; none if no service that keeps the promises gives it.
Whatever the service draws (ids, codes, tokens) is taken from the answers. Where the promises leave a choice, as between
two limits that are both used up, any of them is taken.

Time is in seconds on the client's clock. Nothing is judged that lies within ``EDGE`` of the moment at which it changes.

Left out: challenges, the traffic guard, messengers, budgets, callbacks, languages, blocks of the client's address.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

SESSION_SECONDS, TOKEN_SECONDS, BLOCK_SECONDS = 180.0, 60.0, 60.0
MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
SEND_LIMITS = ((10 * MINUTE, 5), (HOUR, 10), (DAY, 20))  # sends of a recipient, manual ones included
WRONG_LIMITS = ((15 * MINUTE, 10), (DAY, 20))  # wrong codes of a recipient, since the last right one
MOST_SENDS, MOST_WRONG = 5, 5  # of one session, with a code of six characters
EDGE = 2.0  # seconds by which the client's clock and the service's may differ, with the time a call takes


class Call(NamedTuple):
    """One call and its answer. ``given`` are the fields of the request, ``body`` those of the answer.

    ``slack`` is how many seconds a time in the answer may differ from the model's.
    """

    name: str
    given: dict[str, Any]
    status: int
    body: dict[str, Any]
    at: float = 0.0
    slack: float = EDGE

    @property
    def outcome(self) -> str:
        """Return ``ok``, or the error's code."""
        return "ok" if self.status == 200 else f"{self.status} {self.body['code']}"


class Session(NamedTuple):
    id: str
    ends_at: float
    is_test: bool
    state: str = "open"  # or verified, locked
    wrong: int = 0
    sent_over: tuple[str, ...] = ()
    code: str = ""  # once a right answer told it
    not_codes: frozenset[str] = frozenset()  # those that were answered to be wrong

    def standing(self, now: float) -> str:
        """Return what every endpoint answers by: verified comes before expired, and expired before locked."""
        if self.state == "verified":
            return "verified"
        return "expired" if self.ends_at <= now else self.state


class Send(NamedTuple):
    at: float
    channel: str
    session: str = ""  # empty for a manual send, which neither takes a block nor obeys one
    is_counted: bool = True  # a test login's are not


class Token(NamedTuple):
    text: str
    at: float
    is_test: bool
    is_used: bool = False


class State(NamedTuple):
    """Everything about one recipient. The first three never change."""

    to: str
    channels: tuple[str, ...]  # in the project's order
    test_code: str = ""  # of a test login
    sessions: tuple[Session, ...] = ()
    sends: tuple[Send, ...] = ()
    wrong_at: tuple[float, ...] = ()  # since the last right code
    tokens: tuple[Token, ...] = ()
    last_channel: str = ""  # verified with, else reached over
    has_verified: bool = False

    @property
    def own_key(self) -> str:
        return "email" if "@" in self.to else "phone"

    def session(self, session_id: str) -> Session | None:
        return next((each for each in self.sessions if each.id == session_id), None)

    def live(self, now: float) -> Session | None:
        return next((each for each in self.sessions if each.standing(now) == "open"), None)

    def with_session(self, session: Session) -> State:
        others = tuple(each for each in self.sessions if each.id != session.id)
        return self._replace(sessions=(*others, session))

    def block_left(self, channel: str, now: float) -> float:
        begun = [each.at for each in self.sends if each.session and each.channel == channel]
        return max([0.0, *(at + BLOCK_SECONDS - now for at in begun)])

    def is_out_of_sends(self, now: float) -> bool:
        at = [each.at for each in self.sends if each.is_counted]
        return not self.test_code and _is_used_up(at, SEND_LIMITS, now)

    def is_out_of_tries(self, now: float) -> bool:
        return _is_used_up(self.wrong_at, WRONG_LIMITS, now)

    def edges(self) -> Iterator[float]:
        """Return the moments at which an answer changes with time alone."""
        yield from (each.ends_at for each in self.sessions)
        yield from (each.at + TOKEN_SECONDS for each in self.tokens)
        yield from (each.at + BLOCK_SECONDS for each in self.sends)
        yield from (each.at + seconds for each in self.sends for seconds, _ in SEND_LIMITS)
        yield from (at + seconds for at in self.wrong_at for seconds, _ in WRONG_LIMITS)


def _is_used_up(moments: Any, limits: Any, now: float) -> bool:
    return any(sum(at > now - seconds for at in moments) >= most for seconds, most in limits)


def after(state: State, call: Call) -> list[State]:
    """Return the states that the call with its answer may leave."""
    return list(RULES[call.name](state, call))


# --- the session -----------------------------------------------------------------------------------------------------


def _create(state: State, call: Call) -> Iterator[State]:
    now, wanted, sends = call.at, call.given.get("type"), call.given.get("send", True)
    if wanted and wanted not in state.channels:
        if call.outcome == "409 channel_not_available":
            yield state
        return
    if state.is_out_of_tries(now) and call.outcome == "429 too_many_attempts" and call.body["retry_after"] > 0:
        yield state
    if call.outcome == "429 too_many_sends" and sends:
        live = state.live(now)
        if state.is_out_of_sends(now) or (live and len(live.sent_over) >= MOST_SENDS):
            yield state
    if call.outcome != "ok" or (sends and state.is_out_of_tries(now)):
        return
    session = state.live(now)
    if session is None:
        if state.session(call.body["session_id"]):
            return  # a session that is over is never handed out again
        session = Session(call.body["session_id"], now + SESSION_SECONDS, bool(state.test_code))
    elif session.id != call.body["session_id"]:
        return
    if not _is_about(call.body["expires_in"], session.ends_at - now, call):
        return
    for channel in [wanted] if wanted else _choices(state):
        left = state.block_left(channel, now)
        # The promises do not say whether a test login's new session, for which nothing is sent, obeys the block; nor
        # which holds where the block keeps a code back whose recipient is at the limit of sends: both are taken.
        for is_sent in {
            bool(sends and not left),
            bool(sends and (not left or (state.test_code and not session.sent_over))),
        }:
            if is_sent and (state.is_out_of_sends(now) or len(session.sent_over) >= MOST_SENDS):
                continue
            yield from _opened(state, call, session, channel if is_sent else "")


def _choices(state: State) -> list[str]:
    return [state.last_channel or state.channels[0]]


def _opened(state: State, call: Call, session: Session, channel: str) -> Iterator[State]:
    if channel:
        session = session._replace(sent_over=(*session.sent_over, channel))
        state = _with_send(state, session, channel, call.at)
    sent_to = session.sent_over[-1] if session.sent_over else None
    if call.body["sent_to"] == sent_to and _shows_blocks(state, call):
        yield state.with_session(session)


def _with_send(state: State, session: Session, channel: str, now: float) -> State:
    return state._replace(sends=(*state.sends, Send(now, channel, session.id, is_counted=not session.is_test)))


def _shows_blocks(state: State, call: Call) -> bool:
    told = {each["type"]: each["timeout"] for each in call.body["channels"]}
    return list(told) == list(state.channels) and all(
        bool(timeout) == bool(left := state.block_left(channel, call.at)) and _is_about(timeout, left, call)
        for channel, timeout in told.items()
    )


def _is_about(told: float, meant: float, call: Call) -> bool:
    return abs(told - meant) <= call.slack


def _refusal_of(session: Session | None, now: float) -> str:
    """Return the answer of a session that is not open, in the one order of all endpoints."""
    if session is None:
        return "404 session_not_found"
    standing = session.standing(now)
    return {
        "open": "",
        "verified": "409 session_verified",
        "expired": "410 session_expired",
        "locked": "429 too_many_attempts",
    }[standing]


def _send(state: State, call: Call) -> Iterator[State]:
    now, session, channel = call.at, state.session(call.given["session_id"]), call.given["type"]
    if refusal := _refusal_of(session, now):
        if call.outcome == refusal:
            yield state
        return
    assert session is not None
    refusals = {
        "409 channel_not_available": channel not in state.channels,
        "429 too_many_attempts": state.is_out_of_tries(now),
        "429 channel_timeout": state.block_left(channel, now) > 0,
        "429 too_many_sends": state.is_out_of_sends(now) or len(session.sent_over) >= MOST_SENDS,
    }
    if any(refusals.values()):
        if refusals.get(call.outcome):
            yield state
        return
    if call.outcome != "ok" or call.body["session_id"] != session.id:
        return
    told = call.body["channel"]
    if told["type"] == channel and _is_about(told["timeout"], BLOCK_SECONDS, call):
        session = session._replace(sent_over=(*session.sent_over, channel))
        yield _with_send(state, session, channel, now).with_session(session)


def _check(state: State, call: Call) -> Iterator[State]:
    now, session, code = call.at, state.session(call.given["session_id"]), call.given["code"].strip().upper()
    if refusal := _refusal_of(session, now):
        if call.outcome == refusal and "retry_after" not in call.body:
            yield state
        return
    assert session is not None
    if state.is_out_of_tries(now):
        if call.outcome == "429 too_many_attempts" and call.body.get("retry_after", 0) > 0:
            yield state
        return
    may_be_right = bool(session.sent_over) and code not in session.not_codes and session.code in ("", code)
    if session.is_test:
        may_be_right = bool(session.sent_over) and code == state.test_code
    if call.outcome == "ok" and may_be_right and call.body["is_test"] is session.is_test:
        token = Token(call.body["verify_token"], now, session.is_test)
        if any(each.text == token.text for each in state.tokens):
            return
        yield state.with_session(session._replace(state="verified", code=code))._replace(
            tokens=(*state.tokens, token), wrong_at=(), last_channel=session.sent_over[-1], has_verified=True
        )
    is_right = session.code == code or (session.is_test and may_be_right)
    if call.outcome == "400 invalid_code" and not is_right:
        wrong = session.wrong + 1
        if call.body["attempts_left"] != MOST_WRONG - wrong:
            return
        state = state._replace(wrong_at=(*state.wrong_at, now))
        yield state.with_session(
            session._replace(
                wrong=wrong,
                state="locked" if wrong == MOST_WRONG else "open",
                not_codes=session.not_codes | {code} if session.sent_over else session.not_codes,
            )
        )


def _verify(state: State, call: Call) -> Iterator[State]:
    token = next((each for each in state.tokens if each.text == call.given["verify_token"]), None)
    if token is None:
        if call.outcome == "404 verify_token_not_found":
            yield state
    elif token.is_used or token.at + TOKEN_SECONDS <= call.at:
        if call.outcome == "410 verify_token_expired":
            yield state
    elif call.outcome == "ok" and call.body == {state.own_key: state.to}:
        others = tuple(each for each in state.tokens if each is not token)
        yield state._replace(tokens=(*others, token._replace(is_used=True)))


def _channels(state: State, call: Call) -> Iterator[State]:
    session = state.session(call.given["session_id"])
    refusal = _refusal_of(session, call.at)
    if refusal and session and session.standing(call.at) != "locked":
        if call.outcome == refusal:
            yield state
    elif call.outcome == "ok" and _shows_blocks(state, call):
        yield state


def _settings(state: State, call: Call) -> Iterator[State]:
    session = state.session(call.given["session_id"])
    refusal = _refusal_of(session, call.at)
    if refusal and session and session.standing(call.at) != "locked":
        if call.outcome == refusal:
            yield state
    elif call.outcome == "ok":
        code = {"length": 6, "digits": True, "letters": False}
        if call.body["code"] == code and call.body["challenge"] == {"enabled": False, "api_key": None}:
            yield state


# --- manual sends, and what becomes of messages ----------------------------------------------------------------------


def _manual_send(state: State, call: Call) -> Iterator[State]:
    if call.given["channel"] not in state.channels:
        if call.outcome == "409 channel_not_available":
            yield state
    elif state.is_out_of_sends(call.at):
        if call.outcome == "429 too_many_sends" and call.body["retry_after"] > 0:
            yield state
    elif call.outcome == "ok":
        counted = Send(call.at, call.given["channel"], is_counted=not state.test_code)
        yield state._replace(sends=(*state.sends, counted))


def _arrived(state: State, call: Call) -> Iterator[State]:
    """A message that the gateway was given, with its code: only what was asked for arrives, and with one code."""
    session, code = state.session(call.given.get("session_id", "")), call.given["code"]
    channel = call.given["channel"]
    if session is None:  # a manual send's
        if any(not each.session and each.channel == channel for each in state.sends):
            yield state if state.has_verified else state._replace(last_channel=channel)
        return
    if channel in session.sent_over and session.code in ("", code) and code not in session.not_codes:
        state = state.with_session(session._replace(code=code))
        yield state if state.has_verified else state._replace(last_channel=channel)


def dropped(state: State) -> Iterator[State]:
    """Return the states in which one more message was not sent because its session was over.

    A code that is no longer valid is never sent, and what is not sent counts in no limit and blocks no channel.
    """
    for place, each in enumerate(state.sends):
        session = each.session and state.session(each.session)
        if session and session.state != "open":
            yield state._replace(sends=state.sends[:place] + state.sends[place + 1 :])


RULES = {
    "create": _create,
    "send": _send,
    "check": _check,
    "verify": _verify,
    "channels": _channels,
    "settings": _settings,
    "manual_send": _manual_send,
    "arrived": _arrived,
}
