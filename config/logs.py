"""Log lines: JSON for machines, one plain line for people. Neither ever shows a secret we know of."""

import logging
import sys
from collections.abc import MutableMapping
from functools import cached_property
from typing import Any


def formatter(log_format: str) -> logging.Formatter:
    """A formatter for the standard library's handlers; ``log_format`` is ``json`` or ``console``."""
    return LateFormatter(log_format)


class LateFormatter(logging.Formatter):
    """Loads structlog with the first line that is written: most commands write none, and start sooner without it."""

    def __init__(self, log_format: str) -> None:
        super().__init__()
        self.log_format = log_format

    def format(self, record: logging.LogRecord) -> str:
        return self._formatter.format(record)

    @cached_property
    def _formatter(self) -> logging.Formatter:
        return _make(self.log_format)


def _make(log_format: str) -> logging.Formatter:
    import structlog

    renderer = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(),
            _without_request,
            _with_trace,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            renderer,
        ],
    )


def _without_request(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Django adds the request to some records, and what that prints holds the query, with whatever was searched for."""
    event.pop("request", None)
    return event


def _with_trace(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Name the trace that this thread is at, so that a worker's line is found by the request's id."""
    traces = sys.modules.get("verification.core.tracing")  # which the web server's parent never loads
    if traces is not None and (trace_id := traces.current_id()):
        event["trace_id"] = trace_id
    return event
