"""Traces where there is no collector, and the ids that requests lend them. The rest is tried in tests/faults."""

import os
import subprocess
import sys

import pytest

from tests.live import ROOT
from verification.core import tracing

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_without_a_collector_there_is_no_span_and_nothing_to_keep():
    with tracing.request_span(TRACE, ""), tracing.span("deliver") as span:
        tracing.annotate(status=200)
        assert (span, tracing.current(), tracing.current_id(), tracing.is_on()) == (None, "", "", False)
    assert tracing.trace_id_in(f"00-{TRACE}-{SPAN}-01") == ""


def test_without_a_collector_what_sends_spans_is_not_imported():
    program = (
        "import sys, django\ndjango.setup()\nimport verification.api.urls, verification.worker.runner\n"
        "SENDING = ('opentelemetry.exporter', 'opentelemetry.sdk.trace', 'google.protobuf')\n"
        "from verification.core import tracing\nassert not tracing.is_on()\n"
        "print([name for name in sys.modules if name.startswith(SENDING)])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


@pytest.mark.parametrize(
    ("address", "missing", "why"),
    [
        ("http://127.0.0.1:4318", True, "requirements/traces.txt"),
        ("http://user:secret@127.0.0.1:4318", False, "OTEL_EXPORTER_OTLP_HEADERS"),
    ],
)
def test_the_start_is_refused_without_the_library_or_with_a_user_in_the_address(address, missing, why):
    program = (
        "import importlib.util as util\nfind = util.find_spec\n"
        f"util.find_spec = lambda name, *rest: None if {missing} and name == 'opentelemetry' else find(name, *rest)\n"
        "import django\ndjango.setup()"
    )
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": address}
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode and why in done.stderr and "secret" not in done.stderr


@pytest.mark.parametrize("request_id", ["0" * 32, TRACE.upper(), TRACE[:-1], "order-4711"])
def test_a_request_id_that_is_no_trace_s_leads_to_one_by_its_hash(request_id):
    assert tracing.trace_id_of(TRACE) == TRACE
    found = tracing.trace_id_of(request_id)
    assert found != request_id and len(found) == 32 and int(found, 16)
