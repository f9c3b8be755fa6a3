"""The pages under /docs/: the reference, the errors, and the description that tools read."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

from csp.decorators import csp_replace
from django.conf import settings
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import re_accepts_gzip
from django.shortcuts import render
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.encoding import force_bytes
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiYamlRenderer

from verification.api.reference import error_guide, error_pages, guides, search
from verification.api.reference.schema import REASONS
from verification.core.caching import Cached
from verification.core.error_codes import CATALOGUE
from verification.models.project_settings.described import described

LONGEST_QUERY = 100  # characters of a search; the rest is cut off
OWN_SCRIPTS = {"script-src": ["'self'"]}  # unlike the admin, these pages evaluate nothing
OWN_STYLES = {**OWN_SCRIPTS, "style-src": ["'self'"]}


@Cached  # drf-spectacular finds its extensions while it generates, in a way that two threads at once break
def description() -> dict[str, Any]:
    """Return the API's description, which cannot change while the process lives."""
    generator = SchemaGenerator(urlconf="verification.api.urls")  # type: ignore[no-untyped-call]
    made: dict[str, Any] = generator.get_schema(public=True)  # type: ignore[no-untyped-call]
    return made


@dataclass(frozen=True, slots=True)
class DescriptionFile:
    """The description of the API in one format, for tools. Made and compressed once, as anybody may ask for it."""

    content_type: str
    plain: bytes
    compressed: bytes
    etag: str


@lru_cache(maxsize=2)
def _document(name: str) -> DescriptionFile:
    renderer = OpenApiJsonRenderer() if name == "json" else OpenApiYamlRenderer()
    return _made(f"application/{name}", force_bytes(renderer.render(description())))


def _made(content_type: str, plain: bytes) -> DescriptionFile:
    etag = f'"{hashlib.sha256(plain).hexdigest()[:32]}"'
    return DescriptionFile(content_type, plain, gzip.compress(plain, mtime=0), etag)


@require_safe
def openapi(request: HttpRequest, name: str) -> HttpResponseBase:
    """Serve the description of the API as ``json`` or ``yaml``."""
    return _serve(request, _document(name))


def _serve(request: HttpRequest, document: DescriptionFile) -> HttpResponseBase:
    """Answer with a document, compressed for callers that accept gzip."""
    if unchanged := get_conditional_response(request, etag=document.etag):
        return unchanged
    is_compressed = re_accepts_gzip.search(request.headers.get("Accept-Encoding", ""))
    content = document.compressed if is_compressed else document.plain
    response = HttpResponse(content, content_type=document.content_type, headers={"ETag": document.etag})
    if is_compressed:
        response["Content-Encoding"] = "gzip"
    patch_vary_headers(response, ["Accept-Encoding"])
    return response


@require_safe
@csp_replace(OWN_SCRIPTS)
def reference(request: HttpRequest) -> HttpResponse:
    return render(request, "docs/reference.html", {"page": "reference"})


@require_safe
@csp_replace(OWN_STYLES)
def errors(request: HttpRequest) -> HttpResponse:
    sample = json.dumps(error_guide.example("channel_timeout", settings.BASE_URL), indent=2)
    return render(request, "docs/errors.html", {"page": "errors", "groups": _errors_by_status(), "sample": sample})


@require_safe
@csp_replace(OWN_STYLES)  # type: ignore[arg-type]  # it passes on every argument, whatever its type says
def error(request: HttpRequest, code: str) -> HttpResponse:
    """Explain one code. The ``type`` of its problem documents leads here."""
    if code not in CATALOGUE:
        raise Http404
    shown = error_pages.page_of(code, description(), settings.BASE_URL)
    context = {"page": "errors", "groups": _errors_by_status(), "shown": shown, "entry": shown.entry}
    return render(request, "docs/error.html", context)


def _errors_by_status() -> list[tuple[int, str, list[error_guide.ErrorEntry]]]:
    by_status = groupby(sorted(error_guide.entries(), key=lambda entry: entry.status), key=lambda entry: entry.status)
    return [(status, REASONS[status], list(entries)) for status, entries in by_status]


@require_safe
@csp_replace(OWN_STYLES)
def guide_index(request: HttpRequest) -> HttpResponse:
    """List the guides; with ``q``, the sections, operations, error codes and settings that hold its words."""
    query = request.GET.get("q", "")[:LONGEST_QUERY]
    hits = search.search(query, description())
    return render(
        request, "docs/guides.html", {"page": "guides", "index": guides.index(), "query": query, "hits": hits}
    )


@require_safe
@csp_replace(OWN_STYLES)  # type: ignore[arg-type]  # it passes on every argument, whatever its type says
def guide(request: HttpRequest, slug: str) -> HttpResponse:
    if slug not in guides.paths():
        raise Http404
    context = {
        "page": "guides",
        "index": guides.index(),
        "guide": guides.read(slug),
        "here": f"{guides.ADDRESS}{slug}/",
    }
    return render(request, "docs/guide.html", context)


@require_safe
def guide_picture(request: HttpRequest, name: str) -> FileResponse:
    path = guides.picture(name)
    if path is None:
        raise Http404
    return FileResponse(path.open("rb"), content_type=guides.PICTURES[path.suffix])


@require_safe
@csp_replace(OWN_STYLES)
def settings_page(request: HttpRequest) -> HttpResponse:
    return render(request, "docs/settings.html", {"page": "settings", "groups": described()})
