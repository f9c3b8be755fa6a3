"""Traces for OpenTelemetry: what happened to one message, from the request to the customer's callback.

Without ``OTEL_EXPORTER_OTLP_ENDPOINT`` we import nothing of it, and nothing is written. A span tells names, ids,
counts and outcomes. It holds no recipient, code, key or address, and no text of an error.
docs/engineering/traces.md lists them.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from django.conf import settings

from verification.core.caching import Cached

_TRACEPARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")
_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
EXPORT_SECONDS = 5  # how long the collector is waited for; spans that it does not take are lost

_wanted_trace_id: ContextVar[str] = ContextVar("wanted_trace_id", default="")


class Tracing:
    """OpenTelemetry's library, and the process's way to the collector: a thread that sends what has ended."""

    def __init__(self) -> None:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

        class WantedIds(RandomIdGenerator):
            """Gives a request's trace the id that follows from the request's own."""

            def generate_trace_id(self) -> int:
                wanted = _wanted_trace_id.get()
                return int(wanted, 16) if wanted else super().generate_trace_id()

        about = {"service.name": "watchword", "service.version": settings.VERSION}
        endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT.rstrip("/") + "/v1/traces"
        provider = TracerProvider(resource=Resource.create(about), id_generator=WantedIds())
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, timeout=EXPORT_SECONDS)))
        self.trace = trace
        self.tracer = provider.get_tracer("watchword")

    def start(self, name: str, kind: str, parent: str | None, link: str | None, attributes: dict[str, Any]) -> Any:
        """Start a span, and make it the current one of this thread until it is left."""
        linked = self._context_of(link)
        above = self._context_of(parent)
        started = self.tracer.start_span(
            name,
            # What this thread is at is passed over where a parent is named: a receipt belongs to its message.
            context=above and self.trace.set_span_in_context(self.trace.NonRecordingSpan(above)),
            kind=self.trace.SpanKind[kind],
            links=[self.trace.Link(linked)] if linked else None,
            attributes=_known(attributes),
        )
        # The text and the lines of an exception may hold anything.
        return self.trace.use_span(started, end_on_exit=True, record_exception=False, set_status_on_exception=False)

    def _context_of(self, traceparent: str | None) -> Any:
        found = _TRACEPARENT.fullmatch(traceparent or "")
        if not found:
            return None
        trace_id, span_id, flags = (int(part, 16) for part in found.groups())
        return self.trace.SpanContext(trace_id, span_id, is_remote=True, trace_flags=self.trace.TraceFlags(flags))


@Cached
def _tracing() -> Tracing | None:
    """Return the way to the collector; None if there is none."""
    return Tracing() if settings.OTEL_EXPORTER_OTLP_ENDPOINT else None


def is_on() -> bool:
    return _tracing() is not None


def span(
    name: str, kind: str = "INTERNAL", *, parent: str | None = None, link: str | None = None, **attributes: Any
) -> AbstractContextManager[object]:
    """Return a span to enter. It belongs to ``parent``, else to what this thread is at, else it begins a trace.

    ``link`` names a span of another trace that led to this one.
    """
    tracing = _tracing()
    if tracing is None:
        return nullcontext()
    started: AbstractContextManager[object] = tracing.start(name, kind, parent, link, attributes)
    return started


@contextmanager
def request_span(request_id: str, traceparent: str) -> Iterator[None]:
    """Enter the span of a request. The caller's own span is above it where both are of one trace."""
    trace_id = trace_id_of(request_id)
    token = _wanted_trace_id.set(trace_id)
    try:
        with span("request", "SERVER", parent=traceparent if trace_id_in(traceparent) == trace_id else None):
            yield
    finally:
        _wanted_trace_id.reset(token)


def annotate(*, name: str = "", **attributes: Any) -> None:
    """Add to the current span of this thread, if there is one."""
    if tracing := _tracing():
        current = tracing.trace.get_current_span()
        current.set_attributes(_known(attributes))
        if name:
            current.update_name(name)


def current() -> str:
    """Return the traceparent of this thread's span; an empty string where there is none, or it is not recorded."""
    tracing = _tracing()
    if tracing is None:
        return ""
    at = tracing.trace.get_current_span().get_span_context()
    if not at.is_valid or not at.trace_flags.sampled:
        return ""
    return f"00-{at.trace_id:032x}-{at.span_id:016x}-{at.trace_flags:02x}"


def current_id() -> str:
    """Return the trace of this thread's span, for a log line; an empty string where there is none.

    It starts nothing, as what starts may write a log line itself.
    """
    library = sys.modules.get("opentelemetry.trace")
    look = getattr(library, "get_current_span", None)  # None also while another thread imports it
    if look is None:
        return ""
    at = look().get_span_context()
    return f"{at.trace_id:032x}" if at.is_valid else ""


def trace_id_of(request_id: str) -> str:
    """Return the trace of a request: its id, or the first half of the id's SHA-256 where that is no trace's."""
    if _TRACE_ID.fullmatch(request_id):
        return request_id
    return hashlib.sha256(request_id.encode()).hexdigest()[:32]


def trace_id_in(traceparent: str) -> str:
    """Return the trace that a caller names in its header; an empty string where there is none, or nothing is sent."""
    found = _TRACEPARENT.fullmatch(traceparent)
    return found[1] if found and is_on() else ""


def _known(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes that have a value, by their full names."""
    return {f"watchword.{name}": value for name, value in attributes.items() if value is not None}
