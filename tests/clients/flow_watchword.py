"""The flow, by our Python package: once with the one client, once with the other."""

import asyncio
import json
import os
import sys

from watchword import AsyncWatchword, Message, TestLoginRefused, Watchword, problems

to, code = os.environ["TO"], os.environ["CODE"]
OPTIONS = {
    "base_url": os.environ["BASE_URL"],
    "api_key": os.environ["API_KEY"],
    "secret_key": os.environ["SECRET_KEY"],
}


def told(wrong: problems.InvalidCode, is_test: bool, phone: str | None, message_id: int, message: Message) -> str:
    return json.dumps(
        {
            "wrong": wrong.code,
            "attempts_left": wrong.attempts_left,
            "is_test": is_test,
            "phone": phone,
            "is_same": message.id == message_id,
            "status": message.status,
        }
    )


def sync_flow() -> str:
    with Watchword(**OPTIONS) as watchword:
        session = watchword.create_session(to, channel="sms", language="sv")
        assert watchword.session_settings(session.session_id).code.length == len(code)
        assert watchword.session_channels(session.session_id)[0].type == "sms"
        try:
            raise AssertionError(watchword.check_code(session.session_id, "000000"))
        except problems.InvalidCode as error:
            wrong = error
        checked = watchword.check_code(session.session_id, code)
        try:
            raise AssertionError(watchword.verify(checked.verify_token))
        except TestLoginRefused:
            pass
        session = watchword.create_session(to)
        checked = watchword.check_code(session.session_id, code)
        verified = watchword.verify(checked.verify_token, allow_test_logins=True)
        assert verified.recipient == to and verified.is_test
        sent = watchword.send_message(to, watchword.manual_channels()[0].type, code="493817")
        assert watchword.open_envelope(sent.code) == "493817"
        message = watchword.read_message(sent.message_id)
        events = list(watchword.iterate_events(types=["session.opened"]))
        assert {event.type for event in events} == {"session.opened"}
        assert watchword.read_event(events[0].id) == events[0]
        assert len(watchword.list_events("0", limit=1).events) == 1
        assert next(iter(watchword.iterate_sessions(to=to))).session_id == session.session_id
        return told(wrong, checked.is_test, verified.phone, sent.message_id, message)


async def async_flow() -> str:
    async with AsyncWatchword(**OPTIONS) as watchword:
        session = await watchword.create_session(to, type="sms", language="sv")
        assert (await watchword.session_settings(session.session_id)).code.length == len(code)
        assert (await watchword.session_channels(session.session_id))[0].type == "sms"
        try:
            raise AssertionError(await watchword.check_code(session.session_id, "000000"))
        except problems.InvalidCode as error:
            wrong = error
        checked = await watchword.check_code(session.session_id, code)
        verified = await watchword.verify(checked.verify_token, allow_test_logins=True)
        sent = await watchword.send_message(to, (await watchword.manual_channels())[0].type, code="493817")
        assert watchword.open_envelope(sent.code) == "493817"
        message = await watchword.read_message(sent.message_id)
        events = [event async for event in watchword.iterate_events(types=["session.opened"])]
        assert {event.type for event in events} == {"session.opened"}
        assert await watchword.read_event(events[0].id) == events[0]
        assert len((await watchword.list_events("0", limit=1)).events) == 1
        return told(wrong, checked.is_test, verified.phone, sent.message_id, message)


print(sync_flow() if sys.argv[1] == "sync" else asyncio.run(async_flow()))
