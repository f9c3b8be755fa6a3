from __future__ import annotations

import pytest

from providers import registry
from providers.base import CHANNELS
from providers.http.client import HttpClient
from tests.fakes.messages import make_message


@pytest.fixture
def adapter(store):
    return registry.build("console", {}, http=HttpClient(), store=store)


@pytest.mark.parametrize("channel", CHANNELS)
def test_it_prints_one_line(adapter, capsys, channel):
    result = adapter.send(make_message(channel=channel))
    assert capsys.readouterr().out == f"[watchword] {channel} to +4915112345678: Your code is 4711\n"
    assert result.is_delivered


def test_a_text_cannot_leave_its_line(adapter, capsys):
    adapter.send(make_message(text="one\ntwo\x1b[2Jthree\u2028four"))
    assert capsys.readouterr().out.endswith(": one two [2Jthree four\n")


def test_check_says_where_messages_go(adapter):
    assert adapter.check().is_ok
