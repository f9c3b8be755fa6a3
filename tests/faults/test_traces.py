"""One trace from the request over the message's row into the worker, the provider, the receipt and the callback."""

import hashlib
import json
import urllib.parse

import pytest

from tests.fakes.http_server import FakeHttpServer
from tests.faults.shop import Shop, recipient
from tests.live import wait_until
from verification.core import tracing

pytestmark = [pytest.mark.live, pytest.mark.long, pytest.mark.xdist_group("live")]

OPEN_SHOP = """
import json, sys
from verification.services.providers import accounts as providers
from verification.services.projects import projects
new = projects.create_project(name="Traced shop")
values = {"url": sys.argv[1] + "/sms", "has_receipts": True, "receipt_id_field": "id", "receipt_status_field": "status",
          "receipt_success": "delivered", "receipt_secret": "a-receipt-secret",
          "body": '{"to":"{to}","code":"{code}","id":"{message_id}","hook":"{hook_url}"}'}
made = providers.add_provider(
    project=new.project, channel="sms", provider_type="http", name="Traced", values=values, priority=1
)
print(json.dumps([new.project.pk, new.api_key, new.secret_key, made.pk]))
"""


@pytest.fixture(scope="module")
def made(service, gateway):
    return json.loads(service.python(OPEN_SHOP, gateway.url))


@pytest.fixture(scope="module")
def traced_shop(service, gateway, made):
    return Shop(service, gateway, *made[:3])


def report(shop, to):
    sent = wait_until(lambda: shop.sent_to(to), "the gateway is asked")[-1]
    wait_until(lambda: shop.messages_to(to) == ["sent"], "the answer is recorded")
    body = {"id": sent["id"], "status": "delivered"}
    path = urllib.parse.urlsplit(sent["hook"]).path
    status, _, headers = shop.service.call("POST", path, body, headers={"x-receipt-secret": "a-receipt-secret"})
    assert status == 200
    return headers["x-request-id"]


def test_a_message_is_one_trace_whose_id_is_the_request_s(traced_shop, traces, made):
    to = recipient()
    with FakeHttpServer() as customer:
        status, body, headers = traced_shop.send(to, code="271828", callback_url=f"{customer.url}/done")
        assert status == 200
        trace_id = headers["x-request-id"]
        reported_in = report(traced_shop, to)
        (told,) = wait_until(lambda: customer.requests, "the customer is told")
    expected = {"POST manual/send", "deliver", "ask provider", "receipt", "callback"}
    wait_until(lambda: traces.of_trace(trace_id).keys() == expected, "all spans arrive, and no other")
    spans = traces.of_trace(trace_id)
    request = spans["POST manual/send"]
    above = {name: span.parent for name, span in spans.items()}
    assert above == {
        "POST manual/send": "",
        "deliver": request.id,
        "ask provider": spans["deliver"].id,
        "receipt": request.id,
        "callback": request.id,
    }
    assert request.told == {
        "watchword.endpoint": "manual/send",
        "watchword.status": 200,
        "watchword.project": traced_shop.id,
    }
    assert spans["deliver"].told["watchword.message"] == body["message_id"]
    assert spans["ask provider"].told == {
        "watchword.provider": made[3],
        "watchword.channel": "sms",
        "watchword.outcome": "accepted",
        "watchword.country": "DE",
    }
    assert spans["receipt"].told["watchword.status"] == "success"
    assert spans["receipt"].links == [reported_in]
    assert told.headers["traceparent"].startswith(f"00-{trace_id}-{spans['callback'].id}-")
    assert "traceparent" not in traced_shop.gateway.requests[-1].headers


def test_a_caller_s_own_trace_goes_on_in_ours(traced_shop, traces):
    trace_id, span_id = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    headers = {"traceparent": f"00-{trace_id}-{span_id}-01"}
    _, _, answered = traced_shop.as_app("GET", "/session/settings", headers=headers)
    assert answered["x-request-id"] == trace_id
    wait_until(lambda: traces.of_trace(trace_id), "the span arrives")
    assert traces.of_trace(trace_id)["GET session/settings"].parent == span_id


def test_a_request_id_of_another_form_leads_to_its_trace_and_stands_in_none(traced_shop, traces):
    _, _, answered = traced_shop.as_app("GET", "/session/settings", headers={"x-request-id": "order.4711"})
    assert answered["x-request-id"] == "order.4711"
    trace_id = hashlib.sha256(b"order.4711").hexdigest()[:32]
    assert tracing.trace_id_of("order.4711") == trace_id
    wait_until(lambda: traces.of_trace(trace_id), "the span arrives")
    assert "order.4711" not in traces.text()


def test_a_caller_who_wants_no_trace_has_none(traced_shop, traces):
    trace_id, to = "aaaa2f3577b34da6a3ce929d0e0e4736", recipient()
    headers = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-00"}
    assert traced_shop.create(to)[0] == 200  # traced, and sent before the one below
    assert traced_shop.send(to2 := recipient(), headers, code="314159")[0] == 200
    report(traced_shop, to2)
    query = (
        "SELECT traceparent FROM verification_message AS m JOIN verification_recipient AS r ON r.id = m.recipient_id"
    )
    assert traced_shop.service.query(f"{query} WHERE r.address = %s", to2) == [(None,)]
    [(kept,)] = traced_shop.service.query(f"{query} WHERE r.address = %s", to)
    wait_until(lambda: traces.of_trace(kept[3:35]).get("deliver"), "the traced one's spans arrive")
    assert traces.of_trace(trace_id) == {}
