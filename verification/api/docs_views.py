"""The pages under /docs/: the reference, the errors, and the description that tools read."""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import groupby
from typing import Any

from csp.decorators import csp_replace
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer

from verification.api import error_guide
from verification.api.schema import REASONS

OWN_SCRIPTS = {"script-src": ["'self'"]}  # unlike the admin, these pages evaluate nothing
OWN_STYLES = {**OWN_SCRIPTS, "style-src": ["'self'"]}


@lru_cache(maxsize=1)
def description() -> dict[str, Any]:
    """The API's description; it cannot change while the process lives."""
    generator = SchemaGenerator(urlconf="verification.api.urls")  # type: ignore[no-untyped-call]
    made: dict[str, Any] = generator.get_schema(public=True)  # type: ignore[no-untyped-call]
    return made


@require_safe
def openapi_json(request: HttpRequest) -> HttpResponse:
    return HttpResponse(OpenApiJsonRenderer().render(description()), content_type="application/json")


@require_safe
def openapi_yaml(request: HttpRequest) -> HttpResponse:
    text = OpenApiYamlRenderer().render(description())  # type: ignore[no-untyped-call]
    return HttpResponse(text, content_type="application/yaml")


@require_safe
@csp_replace(OWN_SCRIPTS)
def reference(request: HttpRequest) -> HttpResponse:
    return render(request, "docs/reference.html", {"page": "reference"})


@require_safe
@csp_replace(OWN_STYLES)
def errors(request: HttpRequest) -> HttpResponse:
    by_status = groupby(sorted(error_guide.entries(), key=lambda entry: entry.status), key=lambda entry: entry.status)
    groups = [(status, REASONS[status], list(entries)) for status, entries in by_status]
    sample = json.dumps(error_guide.example("channel_timeout", settings.BASE_URL), indent=2)
    return render(request, "docs/errors.html", {"page": "errors", "groups": groups, "sample": sample})
