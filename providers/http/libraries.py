"""Libraries that speak HTTP by themselves, made to speak through our door.

We do not patch the place at which they open sockets. We take a request that a library has made ready, and send it by
:class:`providers.http.client.HttpClient`. The library gets the answer as if it had asked by itself. So it gets what the
door promises: the guard, the deadline, the bound on an answer, no redirects, no proxies of the environment, no cookies,
nothing sent twice. And we know what happened, whatever the library makes of it.

The seams are made for that: a session of ``requests`` mounts a transport, anymail's backends take such a session, and
botocore's event ``before-send`` lets a handler answer. Apprise alone has none. Its plugins call ``requests.post`` and
the like, each of which makes a session where nobody can reach it. So for Apprise (:func:`sessions_through_door`) we
replace ``requests.Session.__init__``: every session that is made inside a call gets our transport, and reads nothing
from the environment. A process that sends nothing by Apprise keeps the class as it is.

This module imports a library only when an adapter asks for it: each costs a process time and memory.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import cache, lru_cache, wraps
from types import SimpleNamespace
from typing import Any

from providers.base import Outcome
from providers.errors import NoAnswer, NotConnected, ProviderError
from providers.http.client import RESERVED_HEADERS, HttpAnswer, HttpClient, Timeouts, classify_status
from providers.http.deadline import Deadline

TOTAL_SECONDS = 5.0  # the longest call, with all its requests
CONNECT_SECONDS = 2.0  # the longest wait for a connection
MAX_CLIENTS = 32  # clients for Amazon that a process keeps; each holds some memory

_HIDDEN = frozenset({"location", "set-cookie"})  # headers hidden from libraries, so that none follows or keeps anything


class LibraryCall:
    """The requests of a library in the course of one call, and how the last one ended. All end within ``seconds``."""

    def __init__(self, door: HttpClient, seconds: float = TOTAL_SECONDS) -> None:
        self._door = door
        self._deadline = Deadline(seconds)
        self.answer: HttpAnswer | None = None  # the answer to the last request
        self.error: ProviderError | None = None  # the error of the last request, if it got no answer
        self.is_in_doubt = False  # some request left and got no answer

    def ask(self, method: str, url: str, headers: Mapping[str, Any], body: object) -> HttpAnswer:
        """Send one request of the library. Raises what :meth:`HttpClient.request` raises."""
        self.answer = self.error = None
        try:
            self.answer = self._ask(method, url, headers, body)
        except ProviderError as error:
            self.error = error
            self.is_in_doubt = self.is_in_doubt or isinstance(error, NoAnswer)
            raise
        return self.answer

    def explain(self) -> ProviderError:
        """Return the door's own words for the end of the last request. The library's words may quote what was sent."""
        if self.error is not None:
            return self.error
        if self.answer is None:
            return ProviderError("the message cannot be sent with these settings")
        return classify_status(self.answer)

    def _ask(self, method: str, url: str, headers: Mapping[str, Any], body: object) -> HttpAnswer:
        try:
            seconds = self._deadline.left()
        except TimeoutError:
            raise NotConnected("there was no time left to ask the provider") from None
        content = _bytes(body)
        return self._door.request(
            method,
            url,
            headers={name: _text(value) for name, value in headers.items() if name.lower() not in RESERVED_HEADERS},
            content=b"" if content is None and method not in ("GET", "HEAD") else content,
            timeout=Timeouts(min(CONNECT_SECONDS, seconds), seconds),
        )


_making_client = threading.Lock()
_current: ContextVar[LibraryCall | None] = ContextVar("library_call", default=None)


@contextlib.contextmanager
def through_door(call: LibraryCall) -> Iterator[None]:
    """Make every request of an :func:`amazon_client` by this thread inside a part of ``call``."""
    token = _current.set(call)
    try:
        yield
    finally:
        _current.reset(token)


@contextlib.contextmanager
def sessions_through_door(call: LibraryCall) -> Iterator[None]:
    """Make every request of ``requests`` by this thread inside a part of ``call``. This is for Apprise."""
    _watch_sessions()
    with through_door(call):
        yield


def silence(library: str) -> None:
    """Keep a library from logging: its lines hold bodies and addresses, with codes and keys in them."""
    logging.getLogger(library).setLevel(logging.CRITICAL + 1)


def requests_session(call: LibraryCall) -> Any:
    """Return a ``requests.Session`` that sends through the door."""
    import requests

    session = requests.Session()
    _mount_door(session, call)
    return session


@lru_cache(maxsize=MAX_CLIENTS)
def amazon_client(service: str, region: str, key_id: str, secret: str, url: str) -> Any:
    """Return a client of botocore that knows these keys and nothing of the environment, and tries nothing twice.

    The client works inside :func:`through_door` only. ``url`` is empty for Amazon's own address.
    """
    from botocore.config import Config

    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=CONNECT_SECONDS,
        read_timeout=TOTAL_SECONDS,
        ignore_configured_endpoint_urls=True,
        proxies={},
        parameter_validation=False,  # its errors quote the parameters
    )
    with _making_client:
        client = _amazon().create_client(
            service,
            region_name=region,
            aws_access_key_id=key_id,
            aws_secret_access_key=secret,
            endpoint_url=url or None,
            config=config,
        )
    client.meta.events.register_first("before-send", _answer_amazon)
    return client


@cache
def _amazon() -> Any:
    """Return the session that describes Amazon's services to all clients. Threads may not share it."""
    import botocore.session

    silence("botocore")
    silence("boto3")
    # The machine's own profiles, endpoints and roles are the operator's; no tenant may use them.
    nothing = dict.fromkeys(("config_file", "credentials_file"), (None, None, os.devnull, None))
    return botocore.session.Session(session_vars={"profile": (None, None, None, None), **nothing})


def _answer_amazon(request: Any, **_: Any) -> Any:
    """Send a signed request of botocore's and return its answer. An error raised here ends botocore's call."""
    from botocore.awsrequest import AWSResponse

    call = _current.get()
    if call is None:
        raise RuntimeError("a client of amazon_client was used outside of through_door")
    answer = call.ask(request.method, request.url, request.headers, request.body)
    raw = SimpleNamespace(stream=lambda: iter([answer.body]), read=io.BytesIO(answer.body).read)
    return AWSResponse(request.url, answer.status, _visible_headers(answer), raw)


@cache
def _watch_sessions() -> None:
    """Mount the door in each session that is made inside a call, from now on. Other sessions stay as they are."""
    import requests

    make = requests.Session.__init__

    @wraps(make)
    def init(session: Any, *arguments: Any, **options: Any) -> None:
        make(session, *arguments, **options)
        call = _current.get()
        if call is not None:
            _mount_door(session, call)

    requests.Session.__init__ = init  # type: ignore[method-assign,assignment]


def _mount_door(session: Any, call: LibraryCall) -> None:
    session.trust_env = False  # neither the environment's proxies nor the passwords in a .netrc
    session.adapters.clear()
    session.mount("https://", _transport(call))
    session.mount("http://", _transport(call))


def _transport(call: LibraryCall) -> Any:
    import requests
    from requests.adapters import BaseAdapter
    from requests.structures import CaseInsensitiveDict
    from requests.utils import get_encoding_from_headers

    class Transport(BaseAdapter):
        def send(self, request: Any, *_: object, **__: object) -> Any:
            """Send by the door. It decides time-outs, proxies and certificates, whatever the library wishes."""
            try:
                answer = call.ask(request.method, request.url, request.headers, request.body)
            except NoAnswer as error:
                raise requests.ReadTimeout(str(error), request=request) from None
            except ProviderError as error:
                raise requests.ConnectionError(str(error), request=request) from None
            response = requests.Response()
            response.status_code = answer.status
            response.headers = CaseInsensitiveDict(_visible_headers(answer))
            response.encoding = get_encoding_from_headers(response.headers)
            response.url, response.request = request.url, request
            response.raw = io.BytesIO(answer.body)
            return response

        def close(self) -> None:
            pass

    return Transport()


def _visible_headers(answer: HttpAnswer) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name not in _HIDDEN}


def _bytes(body: object) -> bytes | None:
    """Return a body as bytes, however the library holds it. Raises :class:`ProviderError` for an unknown kind."""
    if body is None or isinstance(body, bytes):
        return body
    if isinstance(body, (bytearray, memoryview)):
        return bytes(body)
    if isinstance(body, str):
        return body.encode()
    if hasattr(body, "read"):
        return _bytes(body.read())
    raise ProviderError("the request cannot be sent like this", Outcome.MISCONFIGURED)


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
