"""A collector for OpenTelemetry's traces: takes spans as protobuf over HTTP, and keeps them."""

from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.fakes.http_server import FakeHttpServer


class Span(NamedTuple):
    name: str
    trace_id: str
    id: str
    parent: str
    told: dict[str, Any]
    links: list[str]


class TraceCollector(FakeHttpServer):
    @property
    def environment(self) -> dict[str, str]:
        """The settings of a service that sends here, and soon."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "200"}

    def __enter__(self):
        super().__enter__()
        return self

    def calls(self) -> list[ExportTraceServiceRequest]:
        assert {request.target for request in self.requests} <= {"/v1/traces"}
        return [ExportTraceServiceRequest.FromString(request.body) for request in list(self.requests)]

    def text(self) -> str:
        """Everything that was sent, names and values."""
        return "\n".join(str(call) for call in self.calls())

    def spans(self) -> list[Span]:
        scopes = [scope for call in self.calls() for resource in call.resource_spans for scope in resource.scope_spans]
        return [
            Span(
                span.name,
                span.trace_id.hex(),
                span.span_id.hex(),
                span.parent_span_id.hex(),
                {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes},
                [link.trace_id.hex() for link in span.links],
            )
            for scope in scopes
            for span in scope.spans
        ]

    def of_trace(self, trace_id: str) -> dict[str, Span]:
        """Return the spans of one trace by their names."""
        return {span.name: span for span in self.spans() if span.trace_id == trace_id}

    def names(self) -> set[str]:
        return {span.name for span in self.spans()}
