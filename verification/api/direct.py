"""The API's way past Django's request handler, whose signals, middleware and thread state only pages need.

The tests' client goes by the handler, and the answer is the same: both call ``middleware.serve``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.core.handlers.wsgi import WSGIRequest
from django.db import DEFAULT_DB_ALIAS, connections

from verification.api.edge import Application, Environ
from verification.api.middleware import is_for_api, serve


def direct(application: Application) -> Application:
    """Wrap a WSGI application: answer what is for the API, and hand it the rest."""

    def wrapped(environ: Environ, start_response: Callable[..., object]) -> Iterable[bytes]:
        if not is_for_api(environ.get("PATH_INFO", "")):
            return application(environ, start_response)
        try:
            response = serve(WSGIRequest(environ))
        finally:
            connections[DEFAULT_DB_ALIAS].close_if_unusable_or_obsolete()  # one that failed would fail the next request
        start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
        return [response.content]

    return wrapped
