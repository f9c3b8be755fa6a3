"""The page about the file: its example is applied, and what it says of commands is so."""

import re
from pathlib import Path

import pytest

from tests.services.config_files.files import document
from verification.management.commands.apply import VARIABLE
from verification.models import Project
from verification.services.config_files import plan
from verification.services.config_files.schema import schema

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "configuration-file.md").read_text()
(EXAMPLE,) = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE)


@pytest.mark.django_db
def test_the_example_is_applied_and_then_holds():
    secrets = {
        "shop_gateway_password": "hunter2",
        "shop_team_chat": "https://hooks.slack.example/1",
    }.get
    plan.apply(document(EXAMPLE), find_secret=secrets)
    project = Project.objects.get(name="Shop")
    assert project.countries == ["DE", "AT", "NO"]
    assert [entry.value for entry in project.list_entries.order_by("value")] == ["+1900", "KP", "shop.example"]
    assert plan.plan(document(EXAMPLE), find_secret=secrets).is_empty


def test_the_example_has_every_part():
    (shop,) = document(EXAMPLE).value["projects"].values()
    assert set(shop) == set(schema()["$defs"]["project"]["properties"])


def test_it_names_what_the_command_reads():
    assert f"begins with `{VARIABLE}`" in GUIDE
