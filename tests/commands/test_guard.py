"""``guard``: what runs, and lifting it."""

from datetime import timedelta

import pytest
from django.core.management.base import CommandError
from django.utils import timezone

from tests.commands.running import run, run_json
from verification.models import GuardBlock

pytestmark = pytest.mark.django_db


@pytest.fixture
def block(project):
    now = timezone.now()
    return GuardBlock.objects.create(
        project=project.row,
        rule="prefix",
        subject="+491511234",
        level=2,
        since=now,
        until=now + timedelta(hours=1),
        figures={"numbers": 11, "limit": 10, "minutes": 10},
        refused=7,
    )


def test_it_lists_blocks_and_figures(api, project, block):
    api.create("+4915112345678", type="sms")
    api.create("+33612345678")
    shown = run_json("guard", str(project.id))
    assert (shown["project"], shown["mode"]) == (project.id, "enforce")
    assert [(one["rule"], one["subject"], one["level"], one["refused"]) for one in shown["findings"]] == [
        ("prefix", "+491511234", 2, 8)
    ]
    assert shown["countries"] == [
        {"subject": "DE", "sends": 0, "verified": 0, "percent": None, "refused": 1},
        {"subject": "FR", "sends": 1, "verified": 0, "percent": 0, "refused": 0},
    ]
    assert {"subject": "+491511234", "sends": 0, "verified": 0, "percent": None, "refused": 8} in shown["prefixes"]


def test_it_shows_the_same_as_text(api, project, block):
    api.create("+33612345678")
    text = run("guard", str(project.id))
    assert "+491511234" in text
    assert "FR" in text


@pytest.mark.parametrize("subject", ["+491511234", "all"])
def test_it_lifts(project, block, subject):
    assert run_json("guard", str(project.id), "--lift", subject) == {"project": project.id, "lifted": 1}
    assert run_json("guard", str(project.id))["findings"] == []


def test_it_refuses_to_lift_what_does_not_run(project, block):
    with pytest.raises(CommandError, match="There is no active block on"):
        run("guard", str(project.id), "--lift", "+49170")
