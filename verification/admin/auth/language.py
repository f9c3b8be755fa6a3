"""The language of the panel's pages: the one that the reader chose, else the first of their browser's that we have.

The choice is a cookie, so that the pages before the login have it too. Only the panel's requests ask for it: the API
and the hosted pages pass this by, and a thread is back at English when its request ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.http import HttpRequest
from django.utils import translation


@contextmanager
def of_reader(request: HttpRequest) -> Iterator[str]:
    """Speak the reader's language within the block."""
    language = translation.get_language_from_request(request)
    with translation.override(language):
        yield language
