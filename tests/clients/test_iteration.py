"""The iterators of our Python clients go from page to page; the program flow_watchword.ts does so in TypeScript."""

import asyncio
import json

import httpx
import pytest
from watchword import AsyncWatchword, Watchword, problems

HAPPENED_AT = "2026-05-04T09:31:12.418Z"


def page(*ids, after, has_more):
    events = [{"id": id, "type": "session.opened", "timestamp": HAPPENED_AT, "body": {}} for id in ids]
    return {"events": events, "after": after, "has_more": has_more}


@pytest.fixture
def pages():
    return [
        page("evt_1", "evt_2", after="1-2", has_more=True),
        page(after="2-7", has_more=True),  # others than those that are wanted
        page("evt_9", after="3-9", has_more=False),
    ]


@pytest.fixture
def asked():
    return []


@pytest.fixture
def transport(pages, asked):
    def answer(request):
        asked.append(dict(request.url.params))
        return httpx.Response(200, json=pages.pop(0))

    return httpx.MockTransport(answer)


def in_python(transport):
    with Watchword("https://w.example", secret_key="s", http=httpx.Client(transport=transport)) as watchword:
        return [event.id for event in watchword.iterate_events(types=["session.opened", "session.locked"])]


def in_asyncio(transport):
    async def run():
        http = httpx.AsyncClient(transport=transport)
        async with AsyncWatchword("https://w.example", secret_key="s", http=http) as watchword:
            iterator = watchword.iterate_events(types=iter(["session.opened", "session.locked"]))
            return [event.id async for event in iterator]

    return asyncio.run(run())


@pytest.mark.parametrize("iterate", [in_python, in_asyncio])
def test_it_goes_on_while_there_is_more(transport, asked, iterate):
    assert iterate(transport) == ["evt_1", "evt_2", "evt_9"]
    assert [each["after"] for each in asked] == ["0", "1-2", "2-7"]
    assert {each["type"] for each in asked} == {"session.opened,session.locked"}


LISTED = {
    "state": "open",
    "recipient": "+46701740605",
    "channel": "sms",
    "reference": None,
    "language": "en",
    "is_test": False,
    "attempts": 0,
    "created_at": HAPPENED_AT,
    "expires_at": HAPPENED_AT,
    "verified_at": None,
    "redeemed_at": None,
    "cancelled_at": None,
    "messages": [],
}


def test_sessions_are_gone_through_from_page_to_page():
    lists = [
        {"sessions": [{"session_id": "01B", **LISTED}], "has_more": True, "after": "01B"},
        {"sessions": [{"session_id": "01A", **LISTED}], "has_more": False, "after": None},
    ]
    asked = []

    def answer(request):
        asked.append(dict(request.url.params))
        return httpx.Response(200, json=lists.pop(0))

    http = httpx.Client(transport=httpx.MockTransport(answer))
    with Watchword("https://w.example", secret_key="s", http=http) as watchword:
        found = [session.session_id for session in watchword.iterate_sessions(state="open")]
    assert found == ["01B", "01A"]
    assert asked == [{"state": "open"}, {"after": "01B", "state": "open"}]


@pytest.mark.parametrize("name", ["channel", "type"])
def test_the_channel_is_sent_by_the_name_that_it_was_given_by(name):
    asked = []

    def answer(request):
        asked.append(json.loads(request.content))
        return httpx.Response(429, json={"type": "about:blank", "title": "", "status": 429, "code": "channel_timeout"})

    http = httpx.Client(transport=httpx.MockTransport(answer))
    with Watchword("https://w.example", api_key="a", http=http, repetitions=0) as watchword:
        for call, to in ((watchword.create_session, "+46701740605"), (watchword.send_code, "01A")):
            with pytest.raises(problems.ChannelTimeout):
                call(to, **{name: "voice"})
    assert [each.get(name) for each in asked] == ["voice", "voice"]
