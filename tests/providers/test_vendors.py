"""The questions that are asked of every vendor's table; its rows stand in ``adapters``."""

from __future__ import annotations

import json
import time
from dataclasses import fields
from urllib.parse import parse_qsl

import pytest

from providers import registry
from providers.base import HookRequest, Outcome, Receipt, Result
from providers.errors import HookForged, NotConnected, ProviderError, SettingsInvalid
from tests.fakes.hooks import receipts_of
from tests.fakes.messages import HOOK_URL, error_of
from tests.providers.vendors import all_vendors, rows

RESULT = {one.name for one in fields(Result)}
VENDORS = pytest.mark.parametrize("vendor", [pytest.param(one, id=one.type) for one in all_vendors()])
REPORTING = pytest.mark.parametrize(
    "vendor", [pytest.param(one, id=one.type) for one in all_vendors() if one.forged and not one.takes_get]
)


@pytest.mark.requirement(84)
@VENDORS
def test_it_refuses_wrong_settings(vendor):
    for name, values in vendor.wrong.items():
        for value in values:
            changes = value if isinstance(value, dict) else {name: value}
            with pytest.raises(SettingsInvalid) as caught:
                registry.clean_settings(vendor.type, {**vendor.settings, **changes})
            assert list(caught.value.errors) == [name], changes
            is_secret = isinstance(value, str) and len(value) > 3 and name in vendor.secrets.split()
            assert not is_secret or value not in str(caught.value)


@VENDORS
def test_secrets_are_secret_and_the_rest_has_defaults(vendor):
    values = registry.clean_settings(vendor.type, vendor.settings)
    assert set(registry.split_secrets(vendor.type, values)[1]) == set(vendor.secrets.split())
    assert {name: values[name] for name in vendor.defaults} == vendor.defaults


@rows("sends", 4)
def test_it_sends_what_the_vendor_documents(vendor, row, server):
    settings, message, expected, behaviour = row
    server.script(behaviour or vendor.taken)
    adapter = vendor.build(server, **settings)
    result = adapter.send(vendor.make_message(**message))
    [request] = server.requests
    wanted = {"outcome": Outcome.ACCEPTED, **expected}
    assert {name: _found(request, result, name) for name in wanted} == wanted


def _found(request, result, name):
    if name in RESULT:
        return getattr(result, name)
    if name in ("method", "target", "body"):
        return getattr(request, name)
    if name.startswith("header "):
        return request.headers.get(name.removeprefix("header "))
    is_form = "form" in request.headers.get("content-type", "")
    found = dict(parse_qsl(request.body.decode(), strict_parsing=True)) if is_form else json.loads(request.body)
    for part in filter(None, name.split(".")):  # no name at all is the whole body
        found = found[int(part)] if isinstance(found, list) else found.get(part)
        if found is None:
            break
    return found


@rows("not_applicable", 2)
def test_what_it_cannot_carry_is_not_asked(vendor, row, server):
    message, settings = row
    adapter = vendor.build(server, **(settings or {}))
    assert error_of(adapter, vendor.make_message(**message)).outcome is Outcome.NOT_APPLICABLE
    assert server.requests == []


@rows("refusals", 6)
def test_it_reads_a_refusal_and_never_asks_twice(vendor, row, server):
    behaviour, outcome, told, attributes, message, settings = row
    server.script(behaviour)
    adapter = vendor.build(server, **(settings or {}))
    error = error_of(adapter, vendor.make_message(**(message or {})))
    wanted = {"outcome": outcome, "is_suppressed": False, **(attributes or {})}
    if told is not None:
        wanted["provider_status"] = told
    assert {name: getattr(error, name) for name in wanted} == wanted
    assert len(server.requests) == 1


@rows("checks", 5)
def test_check_tells_how_it_is(vendor, row, server):
    behaviour, found, words, balance, settings = row
    server.script(behaviour)
    adapter = vendor.build(server, **(settings or {}))
    if isinstance(found, Outcome):
        with pytest.raises(ProviderError) as caught:
            adapter.check()
        assert caught.value.outcome is found and (words or "") in str(caught.value)
    else:
        health = adapter.check()
        assert (health.is_ok, health.balance) == (found, balance) and (words or "") in health.detail
    [request] = server.requests
    assert not vendor.check_request or f"{request.method} {request.target}" == vendor.check_request


@pytest.mark.parametrize("vendor", [pytest.param(one, id=one.type) for one in all_vendors() if one.refusals])
def test_check_tells_of_a_host_that_is_away(vendor, server):
    adapter = vendor.build(server)
    server.close()
    with pytest.raises(NotConnected):
        adapter.check()


@rows("genuine", 3)
def test_it_accepts_a_genuine_call(vendor, row, server, monkeypatch):
    call, settings, at = row
    if at is not None:
        monkeypatch.setattr(time, "time", lambda: at)
    server.script(vendor.hook_answer)
    vendor.build(server, **{**vendor.hook_settings, **(settings or {})}).verify_hook(vendor.call(call))


@rows("forged", 4)
def test_it_refuses_a_forged_or_stale_call(vendor, row, server, monkeypatch):
    call, settings, at, behaviour = row
    if at is not None:
        monkeypatch.setattr(time, "time", lambda: at)
    server.script(behaviour or vendor.hook_answer)
    adapter = vendor.build(server, **{**vendor.hook_settings, **(settings or {})})
    with pytest.raises(HookForged):
        adapter.verify_hook(vendor.call(call))


@REPORTING
def test_an_empty_get_is_forged(vendor, server):
    with pytest.raises(HookForged):
        vendor.build(server, **vendor.hook_settings).verify_hook(HookRequest("GET", HOOK_URL, "", {}, b""))


@rows("reports", 4)
def test_it_reads_a_report(vendor, row, server):
    report, expected, settings, behaviour = row
    server.script(behaviour or vendor.hook_answer)
    adapter = vendor.build(server, **{**vendor.hook_settings, **(settings or {})})
    call = vendor.call(report)
    if isinstance(expected, type):
        with pytest.raises(expected):
            adapter.parse_hook(call)
    elif isinstance(expected, dict):
        [found] = receipts_of(adapter, call)
        usual = {"is_suppressed": False, "is_opted_out": False} if isinstance(found, Receipt) else {}
        wanted = usual | expected
        assert {name: getattr(found, name) for name in wanted} == wanted
    else:
        assert receipts_of(adapter, call) == expected
