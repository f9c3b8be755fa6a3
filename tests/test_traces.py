"""Traces where there is no collector, and the ids that requests lend them. The rest is tried in tests/faults."""

import subprocess
import sys

import pytest

from tests.live import ROOT
from verification import memory, traces

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_without_a_collector_there_is_no_span_and_nothing_to_keep():
    with traces.request_span(TRACE, ""), traces.span("deliver") as span:
        traces.tell(status=200)
        assert (span, traces.current(), traces.current_id(), traces.is_on()) == (None, "", "", False)
    assert traces.trace_id_in(f"00-{TRACE}-{SPAN}-01") == ""


def test_without_a_collector_nothing_of_opentelemetry_is_imported():
    program = (
        "import sys, django\ndjango.setup()\nimport verification.api.urls, verification.worker\n"
        "from verification import traces\nassert not traces.is_on()\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry', 'google.protobuf'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


def test_where_the_library_is_missing_the_log_says_what_to_install(settings, monkeypatch, caplog):
    settings.OTEL_EXPORTER_OTLP_ENDPOINT = "http://127.0.0.1:9"
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    memory.forget_all()
    assert not traces.is_on()
    assert "requirements/traces.txt" in caplog.text


@pytest.mark.parametrize("request_id", ["0" * 32, TRACE.upper(), TRACE[:-1], "order-4711"])
def test_a_request_id_that_is_no_trace_s_leads_to_one_by_its_hash(request_id):
    assert traces.trace_id_of(TRACE) == TRACE
    found = traces.trace_id_of(request_id)
    assert found != request_id and len(found) == 32 and int(found, 16)
