"""Libraries that speak HTTP by themselves, made to speak through our door.

They are not patched where they open sockets. A request that a library has made ready is taken from it, asked by
:class:`providers.door.http.HttpDoor`, and the library gets the answer as if it had asked by itself. So what the door
promises holds for them too: the guard, the deadline, the bound on an answer, no redirects, no proxies of the
environment, no cookies, nothing sent twice. And what happened is known here, whatever the library makes of it.

The two seams are made for that: ``requests`` lets a session mount its transport, and botocore's event ``before-send``
lets a handler answer. A library that makes its sessions where nobody can reach them (apprise) speaks inside
:func:`through_door`: then every session that this thread makes is born with our transport, without an environment.

This module imports none of the libraries until it is asked for one: they cost a process time and memory.
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
from providers.door.deadline import Deadline
from providers.door.http import RESERVED_HEADERS, HttpAnswer, HttpDoor, Timeouts, classify_status
from providers.errors import NoAnswer, ProviderError

TOTAL_SECONDS = 5.0
CONNECT_SECONDS = 2.0
MAX_CLIENTS = 32  # of Amazon, kept by a process

_HIDDEN = frozenset({"location", "set-cookie"})  # so that no library follows or keeps anything


class LibraryCall:
    """What a library asks in the course of one call, and how it ended. All of it is over in ``seconds``."""

    def __init__(self, door: HttpDoor, seconds: float = TOTAL_SECONDS) -> None:
        self._door = door
        self._deadline = Deadline(seconds)
        self.answer: HttpAnswer | None = None  # the last one
        self.error: ProviderError | None = None  # of the last request, if it got no answer
        self.is_in_doubt = False  # some request left and got no answer

    def ask(self, method: str, url: str, headers: Mapping[str, Any], body: object) -> HttpAnswer:
        """Raises as :meth:`HttpDoor.request` does."""
        self.answer = self.error = None
        try:
            self.answer = self._ask(method, url, headers, body)
        except ProviderError as error:
            self.error = error
            self.is_in_doubt = self.is_in_doubt or isinstance(error, NoAnswer)
            raise
        return self.answer

    def explain(self) -> ProviderError:
        """The door's own words for how the last request ended; the library's may quote what was sent."""
        if self.error is not None:
            return self.error
        if self.answer is None:
            return ProviderError("the message cannot be sent with these settings", Outcome.MISCONFIGURED)
        return classify_status(self.answer)

    def _ask(self, method: str, url: str, headers: Mapping[str, Any], body: object) -> HttpAnswer:
        try:
            seconds = self._deadline.left()
        except TimeoutError:
            raise ProviderError("there was no time left to ask the provider") from None
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
    """Inside, whatever this thread asks by ``requests`` or by a client of :func:`amazon_client` is part of it."""
    _watch_sessions()
    token = _current.set(call)
    try:
        yield
    finally:
        _current.reset(token)


def silence(library: str) -> None:
    """Keep a library from logging: what it would say holds bodies and addresses, with codes and keys in them."""
    logging.getLogger(library).setLevel(logging.CRITICAL + 1)


def requests_session(call: LibraryCall) -> Any:
    """A ``requests.Session`` that asks through the door."""
    import requests

    session = requests.Session()
    _mount_door(session, call)
    return session


@lru_cache(maxsize=MAX_CLIENTS)
def amazon_client(service: str, region: str, key_id: str, secret: str, url: str) -> Any:
    """A client of botocore that knows these keys and nothing of the environment, and tries nothing twice.

    It works inside :func:`through_door` only. ``url`` is empty for Amazon's own.
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
    """One for all clients, since it holds the descriptions of Amazon's services. Not safe to share by threads."""
    import botocore.session

    silence("botocore")
    silence("boto3")
    # The machine's own profiles, endpoints and roles are the operator's, and no matter of a tenant.
    nothing = dict.fromkeys(("config_file", "credentials_file"), (None, None, os.devnull, None))
    return botocore.session.Session(session_vars={"profile": (None, None, None, None), **nothing})


def _answer_amazon(request: Any, **_: Any) -> Any:
    """For botocore: the answer to a signed request. What is raised here ends its call."""
    from botocore.awsrequest import AWSResponse

    call = _current.get()
    if call is None:
        raise RuntimeError("a client of amazon_client was used outside of through_door")
    answer = call.ask(request.method, request.url, request.headers, request.body)
    raw = SimpleNamespace(stream=lambda: iter([answer.body]), read=io.BytesIO(answer.body).read)
    return AWSResponse(request.url, answer.status, _visible_headers(answer), raw)


@cache
def _watch_sessions() -> None:
    """Once in a process: a session made inside of a call belongs to it, all others stay as they are."""
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
    session.trust_env = False  # neither its proxies nor the passwords in its .netrc
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
            """Time-outs, proxies and certificates are the door's matter, whatever the library wishes."""
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
    """Of a body as libraries hold them. Raises :class:`ProviderError` for one that is a stream without end."""
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
