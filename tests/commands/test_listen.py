"""``listen``: a developer sees the events of a project, or has them forwarded, and the real delivery stays as it is."""

import json

import pytest
from django.core.management.base import CommandError
from standardwebhooks import Webhook

from tests import factories
from tests.commands.running import run
from tests.fakes.http_server import FakeHttpServer, answer
from verification.models import SESSION_EVENTS, WebhookEvent
from verification.services.projects.webhook_secrets import live_webhook_secrets

pytestmark = pytest.mark.django_db


@pytest.fixture
def happened(api, project, outbox):
    """A verified session of a project that wants all events."""
    project.set(events=[each.value for each in SESSION_EVENTS], event_url="https://shop.example/events")
    api.check(api.create().data["session_id"], outbox.code)
    return project


def test_it_prints_what_happened_a_line_each_with_the_body_below(happened):
    lines = run("listen", "--oldest", "--once").splitlines()
    assert [line.split("  ")[1] for line in lines[::2]] == ["session.opened", "session.verified"]
    assert json.loads(lines[1])["data"]["channel"] == "sms"


def test_it_forwards_to_this_machine_signed_under_the_same_id(happened, settings):
    settings.OUTBOUND_ALLOWED_NETWORKS = []
    before = list(WebhookEvent.objects.order_by("pk").values())
    with FakeHttpServer() as server:
        server.script(answer(204, b""), answer(500, b""))
        url = f"http://localhost:{server.port}/hook"
        told = run("listen", "--oldest", "--once", "--json", "--forward", url).splitlines()
    assert [json.loads(line)["answer"] for line in told] == ["HTTP 204", "HTTP 500"]
    ((secret, _),) = live_webhook_secrets(happened.row)
    bodies = [Webhook(secret).verify(request.body, request.headers) for request in server.requests]
    assert bodies == [json.loads(line)["body"] for line in told]
    ids = [request.headers["webhook-id"] for request in server.requests]
    assert ids == [event.webhook_id for event in WebhookEvent.objects.order_by("pk")]
    assert list(WebhookEvent.objects.order_by("pk").values()) == before


def test_without_oldest_it_begins_with_what_happens_next(happened):
    assert run("listen", "--once", "--project", str(happened.id)) == ""


def test_of_several_projects_one_is_named(happened):
    other = factories.project()
    with pytest.raises(CommandError, match="--project"):
        run("listen", "--once")
    assert run("listen", "--oldest", "--once", "--project", other.row.name) == ""


def test_only_the_types_that_are_wanted_are_printed(happened):
    told = run("listen", "--oldest", "--once", "--json", "--type", "session.verified,session.locked").splitlines()
    assert [json.loads(line)["type"] for line in told] == ["session.verified"]
    with pytest.raises(CommandError, match=r"session\.expired"):
        run("listen", "--once", "--type", "verified")


def test_one_event_is_replayed_by_its_id(happened):
    last = WebhookEvent.objects.last()
    with FakeHttpServer() as server:
        server.script(answer(204, b""))
        url = f"http://localhost:{server.port}/hook"
        told = json.loads(run("listen", "--json", "--id", last.webhook_id, "--forward", url))
        (request,) = server.requests
    assert (told["id"], told["answer"]) == (request.headers["webhook-id"], "HTTP 204") == (last.webhook_id, "HTTP 204")
    with pytest.raises(CommandError, match="no such event"):
        run("listen", "--id", "evt_0")
