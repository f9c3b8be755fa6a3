from __future__ import annotations

import pytest

from providers import registry
from providers.adapters import inbox
from providers.base import CHANNELS, Outcome
from providers.errors import ProviderError
from providers.http.client import HttpClient
from tests.fakes.messages import make_message
from tests.fakes.store import BrokenStore


def build(store):
    return registry.build("inbox", {}, http=HttpClient(), store=store)


@pytest.mark.parametrize("channel", CHANNELS)
def test_it_keeps_a_message(store, channel):
    result = build(store).send(make_message(channel=channel, text="Ваш код 4711"))
    [kept] = inbox.read(store)
    assert (kept.to, kept.channel, kept.code) == ("+4915112345678", channel, "4711")
    assert (kept.text, kept.subject) == ("Ваш код 4711", "4711 is your code")
    assert (kept.language, kept.project) == ("en", "Shop")
    assert kept.at.endswith("Z")
    assert result.is_delivered


def test_it_keeps_the_last_200_for_an_hour_newest_first(store):
    adapter = build(store)
    for number in range(205):
        adapter.send(make_message(code=str(number)))
    codes = [kept.code for kept in inbox.read(store)]
    assert (len(codes), codes[0], codes[-1]) == (200, "204", "5")
    assert store.seconds["messages"] == 3600


def test_a_store_that_is_away_is_temporary():
    with pytest.raises(ProviderError) as caught:
        build(BrokenStore()).send(make_message())
    assert caught.value.outcome is Outcome.TEMPORARY
    assert "password" not in str(caught.value)


def test_check_counts_the_messages(store):
    adapter = build(store)
    adapter.send(make_message())
    assert "1" in adapter.check().detail


def test_check_notices_a_store_that_is_away():
    with pytest.raises(ProviderError):
        build(BrokenStore()).check()
