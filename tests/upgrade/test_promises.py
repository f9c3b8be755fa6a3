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


def drop_path(document):
    del document["paths"]["/manual/channels"]


def drop_method(document):
    document["paths"]["/session/check"] = {"put": document["paths"]["/session/check"]["post"]}


def drop_member(document):
    del schema(document, "SessionChannel")["properties"]["link"]


def rename_field(document):
    properties = schema(document, "SessionCheckRequest")["properties"]
    properties["otp"] = properties.pop("code")


def need_more(document):
    schema(document, "SessionCreateRequest")["required"].append("type")


def promise_less(document):
    schema(document, "SessionCheckResponse")["required"].remove("is_test")


def change_type(document):
    schema(document, "ManualMessage")["properties"]["id"] = {"type": "string"}


def make_null(document):
    schema(document, "SessionCheckResponse")["properties"]["verify_token"]["type"] = ["string", "null"]


def take_fewer_words(document):
    schema(document, "Channel")["enum"].remove("voice")


def give_more_statuses(document):
    schema(document, "MessageStatus")["enum"].append("bounced")


def take_less(document):
    schema(document, "SessionCheckRequest")["properties"]["code"]["maxLength"] = 6


def take_another_form(document):
    schema(document, "SessionSendRequest")["properties"]["session_id"]["pattern"] = "^[a-z]+$"


def drop_header(document):
    del document["paths"]["/session/verify"]["post"]["responses"]["200"]["headers"]["X-Test-Login"]


def drop_status(document):
    del document["paths"]["/session/check"]["post"]["responses"]["410"]


def change_key(document):
    document["paths"]["/session/check"]["post"]["security"] = [{"SecretKey": []}]


def drop_parameter(document):
    operation = document["paths"]["/session/channels"]["get"]
    operation["parameters"] = [each for each in operation["parameters"] if each["name"] != "session_id"]


def need_parameter(document):
    document["paths"]["/manual/channels"]["get"]["parameters"].append(
        {"in": "query", "name": "page", "required": True, "schema": {"type": "integer"}}
    )


def drop_event(document):
    del document["webhooks"]["session.locked"]


def drop_member_of_an_event(document):
    del schema(document, "SessionEventData")["properties"]["channel"]


def drop_member_of_a_callback(document):
    del schema(document, "ManualMessageFinished")["properties"]["error"]


BREAKS = {
    drop_path: r"GET /manual/channels: is gone",
    drop_method: r"POST /session/check: is gone",
    drop_member: r"channels\[\]\.link: is gone",
    rename_field: r"POST /session/check\.code: is gone",
    need_more: r"POST /session/create\.type: is needed now",
    promise_less: r"POST /session/check 200\.is_test: may be missing now",
    change_type: r"GET /manual/message/\{id\} 200\.id: was integer and is string",
    make_null: r"verify_token: was string and is null or string",
    take_fewer_words: r"POST /session/send\.type: voice is gone",
    give_more_statuses: r"200\.status: may be bounced",
    take_less: r"POST /session/check\.code: maxLength",
    take_another_form: r"POST /session/send\.session_id: pattern",
    drop_header: r"header X-Test-Login is gone",
    drop_status: r"POST /session/check 410: is gone",
    change_key: r"POST /session/check: takes another kind of key",
    drop_parameter: r"parameter session_id is gone",
    need_parameter: r"needs the parameter page",
    drop_event: r"event session\.locked: is gone",
    drop_member_of_an_event: r"event session\.\w+\.data\.channel: is gone",
    drop_member_of_a_callback: r"callback finished\.error: is gone",
}


@pytest.mark.parametrize("change", BREAKS, ids=lambda change: change.__name__)
def test_the_judge_finds_a_break(change):
    changed = copy.deepcopy(now())
    change(changed)
    faults = Judge(now(), changed).faults()
    assert faults
    assert any(re.search(BREAKS[change], fault) for fault in faults), faults


def add_much(document):
    schema(document, "ErrorCode")["enum"].append("brand_new")
    schema(document, "SessionCreateResponse")["properties"]["extra"] = {"type": "string"}
    schema(document, "SessionCreateRequest")["properties"]["extra"] = {"type": "string"}
    schema(document, "SessionCheckRequest")["properties"]["code"]["maxLength"] = 64
    document["paths"]["/session/cancel"] = {"post": document["paths"]["/session/check"]["post"]}
    document["webhooks"]["session.closed"] = document["webhooks"]["session.locked"]


def test_the_judge_lets_additions_pass():
    changed = copy.deepcopy(now())
    add_much(changed)
    assert Judge(now(), changed).faults() == []
