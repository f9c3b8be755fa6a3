"""The client. Written by packages/generate_clients.py from async_client.py."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx
from watchword import envelopes
from watchword.errors import TestLoginRefused
from watchword.transport import Call, Key, Repeat, given, named, read, repeat_of_sending, wait_before_next
from watchword.types import (
    Channel,
    ChannelDelivery,
    CheckedCode,
    Event,
    EventList,
    ManualChannel,
    Message,
    QueuedMessage,
    SentCode,
    Session,
    SessionChannel,
    SessionDelivery,
    SessionList,
    SessionRecord,
    SessionSettings,
    SessionState,
)
from watchword.verified import Verified

TIMEOUT_SECONDS = 10.0  # of one try: to connect, to write, and between two parts of the answer
REPETITIONS = 2  # after the first try, of a call that a retry may fix
LONGEST_WAIT_SECONDS = 5.0  # the caller has to wait out a longer Retry-After


class Watchword:
    """A service at ``base_url``, called with one key or both. Threads may share a client; close it at the end.

    Sessions need the API key; ``verify`` and the manual sends need the secret key. ``http`` replaces the HTTP client,
    for a proxy or a test; then ``timeout`` is its own.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        secret_key: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        repetitions: int = REPETITIONS,
        longest_wait: float = LONGEST_WAIT_SECONDS,
        http: httpx.Client | None = None,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._api_key = Key(api_key or "")
        self._secret_key = Key(secret_key or "")
        self._repetitions = repetitions
        self._longest_wait = longest_wait
        self._http = http or httpx.Client(timeout=timeout)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._base_url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # --- sessions, with the API key ---

    def create_session(
        self,
        to: str,
        *,
        channel: Channel | None = None,
        type: Channel | None = None,
        send: bool = True,
        reference: str | None = None,
        challenge_token: str | None = None,
        language: str | None = None,
        client_address: str | None = None,
    ) -> Session:
        """Start a verification, or return the recipient's live one. It sends the code unless ``send`` is false.

        ``channel`` is the one to send over, by default the project's; ``type`` is another name for it.
        ``reference`` is your own name for it, which ``read_session`` and events return. ``language`` is the user's, in
        the form of ``Accept-Language``. ``client_address`` is the user's IP address, if one of your listed servers
        makes the call.
        """
        body = given(to=to, channel=channel, type=type, send=send, reference=reference, challenge_token=challenge_token)
        headers = named(language=language, client_address=client_address)
        call = Call("POST", "/session/create", repeat_of_sending(challenge_token), body, headers=headers)
        return Session.from_json(read(self._call(call, self._api_key)))

    def send_code(
        self,
        session_id: str,
        channel: Channel | None = None,
        *,
        type: Channel | None = None,
        challenge_token: str | None = None,
        client_address: str | None = None,
    ) -> SentCode:
        """Send the session's code again, or over another channel. ``type`` is another name for ``channel``.

        After a lost answer the retry may raise ``ChannelTimeout``: the code is then on its way.
        """
        body = given(session_id=session_id, channel=channel, type=type, challenge_token=challenge_token)
        headers = named(client_address=client_address)
        call = Call("POST", "/session/send", repeat_of_sending(challenge_token), body, headers=headers)
        return SentCode.from_json(read(self._call(call, self._api_key)))

    def check_code(self, session_id: str, code: str, *, client_address: str | None = None) -> CheckedCode:
        """Check what the user typed. It proves nothing to your server until ``verify`` redeems the token."""
        body = {"session_id": session_id, "code": code}
        headers = named(client_address=client_address)
        call = Call("POST", "/session/check", Repeat.REFUSED, body, headers=headers)
        return CheckedCode.from_json(read(self._call(call, self._api_key)))

    def session_channels(self, session_id: str | None = None) -> list[SessionChannel]:
        """List a session's channels, with the seconds until each can send again; without a session the project's."""
        call = Call("GET", "/session/channels", Repeat.ANY, query=given(session_id=session_id))
        return [SessionChannel.from_json(each) for each in read(self._call(call, self._api_key))]

    def session_delivery(self, session_id: str) -> list[ChannelDelivery]:
        """Return what became of a session's code on each channel that carried it."""
        call = Call("GET", "/session/delivery", Repeat.ANY, query={"session_id": session_id})
        return SessionDelivery.from_json(read(self._call(call, self._api_key))).channels

    def session_settings(self, session_id: str | None = None) -> SessionSettings:
        """Return the format of a session's code, and if it needs a challenge; without a session the project's."""
        call = Call("GET", "/session/settings", Repeat.ANY, query=given(session_id=session_id))
        return SessionSettings.from_json(read(self._call(call, self._api_key)))

    # --- on your server, with the secret key ---

    def verify(
        self, verify_token: str, *, allow_test_logins: bool = False, idempotency_key: str | None = None
    ) -> Verified:
        """Redeem the token of a right code, once and within 60 seconds, and return who was verified.

        Each call has its own ``Idempotency-Key``, so that its retries can read a lost answer. Pass a key that you
        store, and this also works after your program restarts.
        """
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        call = Call("POST", "/session/verify", Repeat.ANY, {"verify_token": verify_token}, headers=headers)
        outcome = self._call(call, self._secret_key)
        document = read(outcome)
        told = outcome.headers if isinstance(outcome, httpx.Response) else {}
        is_test = "x-test-login" in told
        if is_test and not allow_test_logins:
            raise TestLoginRefused
        return Verified(
            document.get("phone"), document.get("email"), is_test, told.get("x-session-id"), told.get("x-channel")
        )

    def read_session(self, session_id: str) -> SessionRecord:
        """Return a session in any state, with its messages. This proves nobody's address: ``verify`` does."""
        call = Call("GET", f"/session/{quote(session_id, safe='')}", Repeat.ANY)
        return SessionRecord.from_json(read(self._call(call, self._secret_key)))

    def list_sessions(
        self,
        after: str | None = None,
        *,
        to: str | None = None,
        reference: str | None = None,
        state: SessionState | None = None,
        limit: int | None = None,
    ) -> SessionList:
        """List sessions, newest first. Pass the ``after`` of an earlier list while it ``has_more``."""
        query = given(after=after, to=to, reference=reference, state=state, limit=limit)
        call = Call("GET", "/session", Repeat.ANY, query=query)
        return SessionList.from_json(read(self._call(call, self._secret_key)))

    def iterate_sessions(
        self, *, to: str | None = None, reference: str | None = None, state: SessionState | None = None
    ) -> Iterator[SessionRecord]:
        """Iterate over all sessions, newest first, with the filters of ``list_sessions``."""
        after: str | None = None
        has_more = True
        while has_more:
            page = self.list_sessions(after, to=to, reference=reference, state=state)
            for session in page.sessions:
                yield session
            after, has_more = page.after, page.has_more

    def cancel_session(self, session_id: str) -> SessionRecord:
        """End a session early: its code is no longer valid, and the service no longer sends it."""
        call = Call("POST", f"/session/{quote(session_id, safe='')}/cancel", Repeat.ANY)
        return SessionRecord.from_json(read(self._call(call, self._secret_key)))

    def send_message(
        self,
        to: str,
        channel: Channel,
        *,
        code: str | None = None,
        provider_id: int | None = None,
        callback_url: str | None = None,
        idempotency_key: str | None = None,
    ) -> QueuedMessage:
        """Send your own code, or a random one, outside any session.

        Each call has its own ``Idempotency-Key``, so that its retries send nothing twice. Pass a key that you store
        with your order to send, and this also works after your program restarts.
        """
        body = given(to=to, channel=channel, code=code, provider_id=provider_id, callback_url=callback_url)
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        call = Call("POST", "/manual/send", Repeat.ANY, body, headers=headers)
        return QueuedMessage.from_json(read(self._call(call, self._secret_key)))

    def read_message(self, message_id: int) -> Message:
        """Return the state of a message that ``send_message`` sent."""
        call = Call("GET", f"/manual/message/{message_id:d}", Repeat.ANY)
        return Message.from_json(read(self._call(call, self._secret_key)))

    def report_verified(self, *, message_id: int | None = None, to: str | None = None) -> None:
        """Report that the user entered the right code of a message without a session: by its id, or by its recipient.

        The send then counts as verified, and the number as known. A repeated report changes nothing.
        """
        body = given(message_id=message_id, to=to)
        read(self._call(Call("POST", "/manual/verified", Repeat.ANY, body), self._secret_key))

    def manual_channels(self) -> list[ManualChannel]:
        """List the channels that ``send_message`` accepts, with their providers."""
        call = Call("GET", "/manual/channels", Repeat.ANY)
        return [ManualChannel.from_json(each) for each in read(self._call(call, self._secret_key))]

    def list_events(
        self, after: str | None = None, *, types: Iterable[str] | None = None, limit: int | None = None
    ) -> EventList:
        """List the next events after a place: the ``after`` of an earlier list, or ``"0"`` for the oldest.

        Without one the list is empty, and new events follow its ``after``. ``types`` filters by type, such as
        ``["session.verified"]``; a filtered list may be empty although it ``has_more``.
        """
        query = given(after=after, type=None if types is None else ",".join(types), limit=limit)
        call = Call("GET", "/events", Repeat.ANY, query=query)
        return EventList.from_json(read(self._call(call, self._secret_key)))

    def iterate_events(self, after: str = "0", *, types: Iterable[str] | None = None) -> Iterator[Event]:
        """Iterate over all events after a place, by default from the oldest.

        To continue from there another time, use ``list_events`` and keep its ``after``.
        """
        wanted = None if types is None else tuple(types)
        has_more = True
        while has_more:
            page = self.list_events(after, types=wanted)
            for event in page.events:
                yield event
            after, has_more = page.after, page.has_more

    def read_event(self, event_id: str) -> Event:
        """Return one event by its ``webhook-id``."""
        call = Call("GET", f"/events/{quote(event_id, safe='')}", Repeat.ANY)
        return Event.from_json(read(self._call(call, self._secret_key)))

    def open_envelope(self, envelope: str) -> str:
        """Return the code in the envelope of a ``QueuedMessage`` that this client's secret key sent."""
        return envelopes.open_envelope(envelope, self._secret_key.text)

    # --- one call ---

    def _call(self, call: Call, key: Key) -> httpx.Response | httpx.RequestError:
        """Send a call, and retry it while that may help and does no harm."""
        if not key.text:
            name = "api_key" if key is self._api_key else "secret_key"
            raise ValueError(f"{call.path} needs the {name}, and this client was created without it.")
        for repetition in range(self._repetitions):
            outcome = self._send(call, key)
            wait = wait_before_next(call, outcome, repetition, self._longest_wait)
            if wait is None:
                return outcome
            time.sleep(wait)
        return self._send(call, key)

    def _send(self, call: Call, key: Key) -> httpx.Response | httpx.RequestError:
        options: dict[str, Any] = {"params": call.query} if call.query else {}
        if call.body is not None:
            options["json"] = call.body
        try:
            return self._http.request(
                call.method,
                self._base_url + call.path,
                headers={**call.headers, "x-api-key": key.text},
                follow_redirects=False,  # a redirect would carry the key elsewhere
                **options,
            )
        except httpx.RequestError as error:
            return error
