"""The schema of set-up files, which editors read by the first line of a file."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache

from django.http import HttpRequest, HttpResponse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import etag, require_safe

from verification.contrib.config_files.schema import schema


@lru_cache(maxsize=1)
def written_schema() -> bytes:
    """Return the schema's text, which cannot change while the process lives."""
    return json.dumps(schema()).encode()


def etag_of(request: HttpRequest) -> str:
    return f'"{hashlib.sha256(written_schema()).hexdigest()[:32]}"'


@require_safe
@gzip_page
@etag(etag_of)
def show_schema(request: HttpRequest) -> HttpResponse:
    return HttpResponse(written_schema(), content_type="application/schema+json")
