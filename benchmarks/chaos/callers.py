"""Callers in a run of chaos: what they ask, and what they keep of each answer for the judge."""

from __future__ import annotations

import http.client
import itertools
import json
import random
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from benchmarks.chaos.gateway import Gateways

ANSWER_SECONDS = 12.0  # that a caller waits for an answer
CODE_SECONDS = 15.0  # that a user waits for a code
WRONG = "WRONG"
BURST = 8  # manual sends at once to one recipient, more than the limit of sends

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Answer:
    """``status`` 0: no answer came, and whether the call happened is not known. -1: nobody took the call."""

    status: int
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def may_have_happened(self) -> bool:
        return self.status in (0, 200) or self.status >= 500


@dataclass
class Created:
    to: str
    session: str
    ends_at: float  # seconds since 1970, as told; earlier once an answer says that the session is verified or locked
    answered_at: float
    is_guessed: bool = False  # wrong codes were tried at once, which may end it before its code is sent


@dataclass
class Sent:
    """A manual send that was accepted, with the statuses that it was seen in."""

    to: str
    message: int
    asked_at: float
    answered_at: float
    statuses: list[str] = field(default_factory=list)


@dataclass
class Record:
    """Everything that the callers saw."""

    created: list[Created] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)  # promises that an answer itself broke
    verified: int = 0
    bursts: list[tuple[str, int, int]] = field(default_factory=list)  # recipient, accepted, unknown

    def break_(self, what: str) -> None:
        self.broken.append(what)


class Callers:
    """Threads that call the nodes in turn until :meth:`stop`.

    ``previous`` are the ports on which the previous release still answers. A 500 of its is counted, and breaks nothing:
    that release cannot be mended any more.
    """

    def __init__(
        self,
        *,
        ports: Sequence[int],
        previous: Container[int],
        keys: dict[str, str],
        gateways: Gateways,
        callback_url: str,
        seed: int,
    ) -> None:
        self.ports, self.keys, self.gateways, self.callback_url, self.seed = ports, keys, gateways, callback_url, seed
        self.previous = previous
        self.record = Record()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._turns = itertools.count()
        self._threads: list[threading.Thread] = []

    def start(self, number: int) -> None:
        jobs: list[Callable[[random.Random], None]] = [self._verify_somebody, self._send_by_hand, self._guess]
        jobs += [self._burst]
        for place in range(number):
            job = jobs[place % len(jobs)]
            chance = random.Random(f"{self.seed}/caller/{place}")  # noqa: S311
            self._threads.append(threading.Thread(target=self._loop, args=(job, chance), daemon=True))
        self._threads.append(threading.Thread(target=self._watch, daemon=True))
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _loop(self, job: Callable[[random.Random], None], chance: random.Random) -> None:
        while not self._over.is_set():
            try:
                job(chance)
            except Exception as error:  # a fault of the callers' own: the run must not pass for a good one
                self.record.break_(f"a caller failed: {error!r}")
            self._over.wait(chance.uniform(0.1, 0.4))

    # --- calling -------------------------------------------------------------------------------------------------

    def call(self, method: str, path: str, body: Any = None, *, kind: str = "api", **headers: str) -> Answer:
        """Ask a node; where nobody listens, the other, as a proxy does."""
        turn = next(self._turns)
        for place in range(len(self.ports)):
            port = self.ports[(turn + place) % len(self.ports)]
            is_previous = port in self.previous
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)
            try:
                connection.connect()
            except OSError:
                connection.close()
                continue
            try:
                given = {"content-type": "application/json", "x-api-key": self.keys[kind], **headers}
                connection.request(method, path, json.dumps(body) if body is not None else None, given)
                response = connection.getresponse()
                found = Answer(response.status, json.loads(response.read() or b"{}"))
            except (OSError, ValueError, http.client.HTTPException):
                found = Answer(0)
            finally:
                connection.close()
            self._count(path, found, is_previous=is_previous)
            return found
        self._count(path, Answer(-1))
        return Answer(-1)

    def _count(self, path: str, found: Answer, *, is_previous: bool = False) -> None:
        name = path.partition("?")[0]
        for prefix in ("/manual/message/", "/hooks/", "/session/0"):
            name = f"{prefix.removesuffix('0')}…" if name.startswith(prefix) else name
        said = f"{name} {found.status} {found.body.get('code', '') if found.status != 200 else ''}"
        is_broken = found.status == 500
        if is_broken and is_previous:
            said += " of the previous release"
        with self._lock:
            self.record.answers[said] += 1
        if is_broken and not is_previous:
            self.record.break_(f"500 at {name}, {time.strftime('%H:%M:%S')}: request {found.body.get('request_id')}")

    def _together(self, asks: list[Callable[[], Answer]]) -> list[Answer]:
        found: list[Answer] = [Answer(0)] * len(asks)

        def ask(place: int) -> None:
            found[place] = asks[place]()

        threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(asks))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    # --- what they do --------------------------------------------------------------------------------------------

    def _create(self, to: str) -> Created | None:
        found = self.call("POST", "/session/create", {"to": to, "type": "sms"})
        if found.status != 200 or not found.body["sent_to"]:
            return None
        ends_at = datetime.fromisoformat(found.body["session_expired_at"]).timestamp()
        created = Created(to, found.body["session_id"], ends_at, time.time())
        self.record.created.append(created)
        return created

    def _code_for(self, to: str) -> str:
        give_up_at = time.monotonic() + CODE_SECONDS
        while time.monotonic() < give_up_at and not self._over.is_set():
            if arrived := self.gateways.to(to):
                return arrived[-1].code
            time.sleep(0.02)
        return ""

    def _verify_somebody(self, chance: random.Random) -> None:
        """Two right checks at once and two redemptions at once, at any nodes: of each, one at most succeeds."""
        created = self._create(recipient())
        if created is None or not (code := self._code_for(created.to)):
            return
        body = {"session_id": created.session, "code": code}
        checks = self._together([lambda: self.call("POST", "/session/check", body)] * 2)
        tokens = [each.body["verify_token"] for each in checks if each.status == 200]
        if tokens:
            created.ends_at = min(created.ends_at, time.time())
        if len(tokens) > 1:
            self.record.break_(f"two tokens for session {created.session}")
        if any(each.body.get("code") == "invalid_code" for each in checks):
            self.record.break_(f"the code that arrived was refused in session {created.session}")
        for token in tokens:
            redeem = partial(self.call, "POST", "/session/verify", {"verify_token": token}, kind="secret")
            redeemed = self._together([redeem] * 2)
            good = [each for each in redeemed if each.status == 200]
            if len(good) > 1:
                self.record.break_(f"one token was redeemed twice in session {created.session}")
            if any(each.body != {"phone": created.to} for each in good):
                self.record.break_(f"a token of another recipient in session {created.session}")
            self.record.verified += bool(good)

    def _send_by_hand(self, chance: random.Random) -> None:
        """One send under one key, asked again until it is answered: one message, however often."""
        to, key, ids = recipient(), uuid.UUID(int=chance.getrandbits(128)).hex, set()
        asked_at = time.time()
        body = {"to": to, "channel": "sms", "callback_url": self.callback_url}
        for _ in range(6):
            found = self.call("POST", "/manual/send", body, kind="secret", **{"idempotency-key": key})
            if found.status == 200:
                ids.add(found.body["message_id"])
                if chance.random() < 0.7:
                    break
            elif found.status not in (0, -1, 503, 409):
                break
            self._over.wait(0.5)
        if len(ids) > 1:
            self.record.break_(f"one idempotency key made the messages {sorted(ids)}")
        for message in ids:
            self.record.sent.append(Sent(to, message, asked_at, time.time()))

    def _guess(self, chance: random.Random) -> None:
        """More wrong codes at once than a session allows: each counts, and none is compared beyond the fifth."""
        created = self._create(recipient())
        if created is None:
            return
        created.is_guessed = True
        body = {"session_id": created.session, "code": WRONG}
        answers = self._together([lambda: self.call("POST", "/session/check", body)] * BURST)
        left = sorted(each.body["attempts_left"] for each in answers if each.body.get("code") == "invalid_code")
        if len(left) != len(set(left)) or len(left) > 5 or any(each.status == 200 for each in answers):
            self.record.break_(f"tries of session {created.session} were counted as {left}")
        after = self.call("POST", "/session/check", body)
        if len(left) == 5:
            created.ends_at = min(created.ends_at, time.time())
        if len(left) == 5 and after.body.get("code") == "invalid_code":
            self.record.break_(f"a sixth code was compared in session {created.session}")

    def _burst(self, chance: random.Random) -> None:
        """More manual sends at once than the limit of sends: five are accepted, and as many messages go out."""
        to = recipient()
        body = {"to": to, "channel": "sms"}
        answers = self._together([lambda: self.call("POST", "/manual/send", body, kind="secret")] * BURST)
        accepted = [each.body["message_id"] for each in answers if each.status == 200]
        self.record.bursts.append((to, len(accepted), sum(each.status in (0, 503) for each in answers)))
        if len(accepted) > 5:
            self.record.break_(f"{len(accepted)} sends to one recipient were accepted within seconds")
        now = time.time()
        self.record.sent.extend(Sent(to, message, now, now) for message in accepted)

    # --- watching ------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Read the status of the latest manual sends over and over."""
        while not self._over.is_set():
            for sent in self.record.sent[-30:]:
                self.look_at(sent)
                if self._over.wait(0.03):
                    break
            self._over.wait(0.5)

    def read_session(self, session: str) -> Answer:
        return self.call("GET", f"/session/{session}", kind="secret")

    def look_at(self, sent: Sent) -> str:
        found = self.call("GET", f"/manual/message/{sent.message}", kind="secret")
        if found.status == 200 and sent.statuses[-1:] != [found.body["status"]]:
            sent.statuses.append(found.body["status"])
        if found.status == 404:
            self.record.break_(f"message {sent.message} was accepted and is unknown")
        return str(found.body.get("status", "")) if found.status == 200 else ""


def recipient() -> str:
    return f"+49151{next(_numbers) * 10_007 % 10**8:08d}"
