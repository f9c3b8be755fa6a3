"""The iterators of our Python clients go from page to page; the program flow_watchword.ts does so in TypeScript."""

import asyncio

import httpx
import pytest
from watchword import AsyncWatchword, Watchword

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
