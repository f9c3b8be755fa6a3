"""The address of the schema of set-up files, which editors read by the first line of a file."""

from __future__ import annotations

from functools import lru_cache
from json import dumps

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import conditional_page, require_safe

from verification.contrib.config_files.export import SCHEMA_PATH
from verification.contrib.config_files.schema import schema


@lru_cache(maxsize=1)
def written_schema() -> str:
    """Return the schema's text, which cannot change while the process lives."""
    return dumps(schema())


@require_safe
@gzip_page
@conditional_page
def show_schema(request: HttpRequest) -> HttpResponse:
    return HttpResponse(written_schema(), content_type="application/schema+json")


urlpatterns = [path(SCHEMA_PATH.removeprefix("/"), show_schema)]
