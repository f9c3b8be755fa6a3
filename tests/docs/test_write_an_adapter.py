"""The adapter of the guide and its test, taken from its page, do what the guide says."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from providers import registry
from tests.conftest import ROOT
from tests.fakes import http_server as fake
from tests.fakes.manners import BAD_ANSWERS
from tests.providers import test_conformance as conformance
from tests.providers import test_vendors

PAGE = ROOT / "docs" / "providers" / "write-an-adapter.md"


@pytest.fixture
def blocks():
    """The adapter, and the table of its test."""
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def vendor(drop, blocks):
    drop("courier", blocks[0])
    assert "courier" not in registry.failures()
    found = {}
    exec(blocks[1], found)
    return found["VENDOR"]


def test_they_pass_the_checks_of_style(blocks):
    for name, source in zip(
        ("providers/adapters/courier.py", "tests/providers/adapters/test_courier.py"), blocks, strict=True
    ):
        command = [sys.executable, "-m", "ruff", "check", "--stdin-filename", name, "-"]
        checked = subprocess.run(command, cwd=ROOT, input=source, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stdout


def test_it_answers_the_questions_of_its_table(vendor, monkeypatch):
    asked = 0
    for name, question in vars(test_vendors).items():
        if not name.startswith("test_"):
            continue
        for row in question.rows_of(vendor) if hasattr(question, "rows_of") else [()]:
            with fake.FakeHttpServer() as server:
                given = {"vendor": vendor, "row": row, "server": server, "monkeypatch": monkeypatch}
                question(**{one: given[one] for one in question.__code__.co_varnames[: question.__code__.co_argcount]})
            asked += 1
    assert asked > 20


def test_it_stands_what_every_adapter_stands(vendor, caplog):
    for case in BAD_ANSWERS:
        with fake.FakeHttpServer() as server:
            conformance.test_a_bad_answer_is_judged_and_never_repeated(server, caplog, "courier", *case.values)
    for status in (200, 400, 500):
        with fake.FakeHttpServer() as server:
            conformance.test_what_a_vendor_quotes_goes_on_no_record(server, caplog, "courier", status)
            conformance.test_a_garbled_call_is_forged_or_unreadable(server, "courier")
    with fake.FakeHttpServer() as server:
        conformance.test_a_redirect_leads_nowhere(server, "courier")
        conformance.test_a_refused_connection_is_surely_not_sent(server, "courier")
