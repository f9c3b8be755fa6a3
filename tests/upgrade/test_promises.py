"""No version breaks what the release before it promised to callers, as docs/versions.md says."""

from __future__ import annotations

import copy
import re

import pytest

from tests.conftest import ROOT
from tests.upgrade import versions
from tests.upgrade.breaking import OPEN_LISTS, Judge, without_prose
from verification.api.reference.views import description


def now():
    return without_prose(description())


def test_nothing_breaks_that_the_release_before_promised():
    before = versions.description(versions.previous_code()) if versions.is_released() else now()
    assert Judge(before, now()).faults() == []


def test_the_page_names_what_may_grow():
    page = (ROOT / "docs" / "versions.md").read_text()
    assert "error codes, types of events, channels, providers of challenges" in page
    assert set(OPEN_LISTS) <= set(now()["components"]["schemas"])


# --- the judge -------------------------------------------------------------------------------------------------------


def schema(document, name):
    return document["components"]["schemas"][name]


def changed(path, change):
    """The description with another value at a place: what ``change`` makes of the old one, None for none."""
    document = copy.deepcopy(now())
    *way, last = path
    node = document
    for name in way:
        node = node[name]
    node[last] = change(node[last])
    if node[last] is None:
        del node[last]
    return document


def without(*names):
    return lambda old: (
        {name: old[name] for name in old if name not in names}
        if isinstance(old, dict)
        else [each for each in old if each not in names]
    )


def gone(_):
    return None


def of(name, *path):
    return ("components", "schemas", name, *path)


CHECK, CHANNELS = ("paths", "/session/check"), ("paths", "/session/channels", "get", "parameters")
LISTED = ("paths", "/manual/channels", "get", "parameters")
NEEDED = {"in": "query", "name": "page", "required": True, "schema": {"type": "integer"}}
VERIFY = ("paths", "/session/verify", "post", "responses", "200", "headers", "X-Test-Login")
BREAKS = [
    (("paths", "/manual/channels"), gone, r"GET /manual/channels: is gone"),
    (CHECK, lambda old: {"put": old["post"]}, r"POST /session/check: is gone"),
    (of("SessionChannel", "properties", "link"), gone, r"channels\[\]\.link: is gone"),
    (
        of("SessionCheckRequest", "properties"),
        lambda old: without("code")(old) | {"otp": old["code"]},
        r"POST /session/check\.code: is gone",
    ),
    (of("SessionCreateRequest", "required"), lambda old: [*old, "type"], r"POST /session/create\.type: is needed now"),
    (
        of("SessionCheckResponse", "required"),
        without("is_test"),
        r"check 200\.is_test: may be missing now",
    ),
    (
        of("ManualMessage", "properties", "id"),
        lambda _: {"type": "string"},
        r"GET /manual/message/\{id\} 200\.id: was integer and is string",
    ),
    (
        of("SessionCheckResponse", "properties", "verify_token", "type"),
        lambda _: ["string", "null"],
        r"verify_token: was string and is null or string",
    ),
    (of("Channel", "enum"), without("voice"), r"POST /session/send\.type: voice is gone"),
    (of("MessageStatus", "enum"), lambda old: [*old, "bounced"], r"200\.status: may be bounced"),
    (
        of("SessionCheckRequest", "properties", "code", "maxLength"),
        lambda _: 6,
        r"check\.code: maxLength",
    ),
    (
        of("SessionSendRequest", "properties", "session_id", "pattern"),
        lambda _: "^[a-z]+$",
        r"POST /session/send\.session_id: pattern",
    ),
    (VERIFY, gone, r"header X-Test-Login is gone"),
    ((*CHECK, "post", "responses", "410"), gone, r"POST /session/check 410: is gone"),
    ((*CHECK, "post", "security"), lambda _: [{"SecretKey": []}], r"POST /session/check: takes another kind of key"),
    (CHANNELS, lambda old: [each for each in old if each["name"] != "session_id"], r"parameter session_id is gone"),
    (LISTED, lambda old: [*old, NEEDED], r"needs the parameter page"),
    (("webhooks", "session.locked"), gone, r"event session\.locked: is gone"),
    (of("SessionEventData", "properties", "channel"), gone, r"event session\.\w+\.data\.channel: is gone"),
    (of("ManualMessageFinished", "properties", "error"), gone, r"callback finished\.error: is gone"),
]


@pytest.mark.parametrize(("path", "change", "said"), BREAKS, ids=lambda each: each if isinstance(each, str) else "")
def test_the_judge_finds_a_break(path, change, said):
    faults = Judge(now(), changed(path, change)).faults()
    assert any(re.search(said, fault) for fault in faults), faults


def add_much(document):
    schema(document, "ErrorCode")["enum"].append("brand_new")
    schema(document, "SessionCreateResponse")["properties"]["extra"] = {"type": "string"}
    schema(document, "SessionCreateRequest")["properties"]["extra"] = {"type": "string"}
    schema(document, "SessionCheckRequest")["properties"]["code"]["maxLength"] = 64
    document["paths"]["/session/cancel"] = {"post": document["paths"]["/session/check"]["post"]}
    document["webhooks"]["session.closed"] = document["webhooks"]["session.locked"]


def test_the_judge_lets_additions_pass():
    more = copy.deepcopy(now())
    add_much(more)
    assert Judge(now(), more).faults() == []
