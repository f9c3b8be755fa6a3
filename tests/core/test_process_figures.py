"""What a process tells of itself, in this process; tests/faults/test_process_figures.py has real ones."""

import threading
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from verification.core import caching, metrics, process_figures
from verification.core.process_figures import Reporter, ThreadUse
from verification.services.maintenance import exposition


@pytest.fixture(autouse=True)
def counted(settings, tmp_path):
    settings.METRICS_TOKEN, settings.METRICS_DIR = "a-token-of-the-tests-0123456789abcdef", tmp_path
    caching.clear_all()
    yield
    caching.clear_all()


def told():
    """Return what a scrape reads, by name and the values of the labels."""
    families = text_string_to_metric_families(exposition.counted().decode())
    return {(each.name, *each.labels.values()): each.value for family in families for each in family.samples}


def waits():
    """Return how many waits of requests were counted, and how many were of at most a second."""
    found = {name: value for name, value in told().items() if name[0].startswith("watchword_thread_wait_seconds")}
    is_short = [value for (name, *labels), value in found.items() if name.endswith("_bucket") and "1.0" in labels]
    return sum(value for (name, *_), value in found.items() if name.endswith("_count")), sum(is_short)


def test_the_seconds_of_busy_threads_add_up():
    use = ThreadUse()
    began = time.monotonic()
    use.begin()
    use.begin()
    threading.Event().wait(0.05)
    busy, seconds = use.take()
    assert busy == 2 and 0.1 <= seconds <= 2 * (time.monotonic() - began)
    use.end()
    use.end()
    use.take()
    assert use.take() == (0, 0.0)


@pytest.mark.parametrize("form", ["t={:.3f}", "{:.3f}", "{:.0f}000", "t={:.0f}000000"])
def test_a_proxy_s_time_is_read_in_seconds_milliseconds_and_microseconds(form):
    process_figures.count_wait_of_request(form.format(time.time() - 100))
    assert waits() == (1, 0)


@pytest.mark.parametrize("form", ["", "t=", "yesterday", "nan", "inf", "-inf", "12", "1e400", "t=99999999999"])
def test_what_is_no_time_of_a_request_is_not_counted(form):
    process_figures.count_wait_of_request(form)
    assert waits() == (0, 0)


def test_a_clock_that_is_ahead_makes_no_wait_negative():
    process_figures.count_wait_of_request(f"t={time.time() + 5:.3f}")
    process_figures.count_wait_of_wake_up(int((time.time() + 5) * 1000))
    assert waits() == (2, 2)


def test_a_report_tells_what_the_process_uses():
    use = ThreadUse()
    use.begin()
    reporter = Reporter("web", threads=8, use=use)
    reporter.report()
    first = told()
    assert first["watchword_threads", "web"] == 8 and first["watchword_threads_busy", "web"] == 1
    assert {name for name, *_ in first if name.startswith("watchword_process_")} == {
        "watchword_process_cpu_seconds_total",
        *(f"watchword_process_{name}" for name in metrics.PROCESS_FIGURES),
    }
    used = first["watchword_process_cpu_seconds_total", "web"]
    assert 0 < used <= time.process_time() + 0.1
    while time.process_time() < used + 0.2:
        pass
    reporter.report()
    second = told()
    assert used < second["watchword_process_cpu_seconds_total", "web"] <= time.process_time() + 0.1
    assert first["watchword_thread_busy_seconds_total", "web"] < second["watchword_thread_busy_seconds_total", "web"]


def test_a_report_waits_for_a_folder_that_cannot_be_written(settings, tmp_path):
    (tmp_path / "file").write_text("")
    settings.METRICS_DIR = tmp_path / "file"
    reporter = Reporter("web", threads=8, use=ThreadUse())
    assert metrics.is_wanted() and not metrics.is_on()
    reporter.report()
    settings.METRICS_DIR = tmp_path / "there"
    caching.clear_all()  # the minute after which it is tried again
    reporter.report()
    assert told()["watchword_threads", "web"] == 8


def test_without_metrics_nothing_is_reported(settings):
    settings.METRICS_TOKEN = ""
    before = threading.active_count()
    assert process_figures.start("web", threads=8) is None
    assert threading.active_count() == before
