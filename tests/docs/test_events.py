"""docs/events.md: what it lists of settings and events is what there is, and its example and program are right."""

import json
import re

import pytest
from standardwebhooks import Webhook

from tests.snippets import ROOT, block
from verification.models import SESSION_EVENTS, EventType, WebhookEvent
from verification.models.project_settings import SETTABLE
from verification.services.notifications.schedule import RETRY_SECONDS
from verification.services.projects.webhook_secrets import live_webhook_secrets

pytestmark = pytest.mark.django_db

NAME = "docs/events.md"
PAGE = (ROOT / NAME).read_text()


def rows(heading):
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([\w.]+)` \|", section, re.MULTILINE)


def receive():
    """Return the program that the page shows."""
    names = {}
    exec(compile(block(NAME, "python", holding="verify_event"), NAME, "exec"), names)
    return names["receive"]


@pytest.fixture
def told(api, project, outbox):
    """The events of a verified session."""
    project.set(events=[each.value for each in SESSION_EVENTS], event_url="https://shop.example/watchword")
    api.check(api.create().data["session_id"], outbox.code)
    return api.events("0").data


def test_it_lists_every_event_and_setting():
    assert sorted(rows("The events")) == sorted(EventType.values)
    assert rows("Choose them") == [name for name in SETTABLE if name.startswith("event")]


def test_its_example_has_the_members_of_a_real_one(told):
    shown = json.loads(block(NAME, "http").partition("\n\n")[2])
    [real] = [event["body"] for event in told["events"] if event["type"] == shown["type"]]
    assert list(shown) == list(real)
    assert shown["data"].keys() == real["data"].keys()


def test_its_listing_has_the_members_of_a_real_one(told):
    shown = json.loads(block(NAME, "json"))
    assert shown.keys() == told.keys()
    assert shown["events"][0].keys() == told["events"][0].keys()


def test_its_program_takes_a_genuine_call_and_no_other(told, project):
    ((secret, _),) = live_webhook_secrets(project.row)
    event = WebhookEvent.objects.last()
    body = json.dumps(told["events"][-1]["body"])
    at = event.created_at
    headers = {
        "webhook-id": event.webhook_id,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(event.webhook_id, at, body),
    }
    assert receive()(headers, body.encode(), secret).type == "session.verified"
    with pytest.raises(Exception, match="signature"):
        receive()(headers, body.replace("verified", "opened").encode(), secret)


def test_it_names_the_waits_between_tries():
    units = {"s": 1, "min": 60, "h": 3_600}
    [listed] = re.findall(r"retries after ([^.]*?), and then stops", " ".join(PAGE.split()))
    assert tuple(int(number) * units[unit] for number, unit in re.findall(r"(\d+) (s|min|h)", listed)) == RETRY_SECONDS
