"""The presets on a project's page, and units and defaults beside its fields."""

import pytest
from django.db import models

from tests.admin.rows import page_with, values_on
from verification.models import Membership, Project, Role
from verification.models.fields import unit_of
from verification.models.project_settings import SETTABLE
from verification.services.projects.protection_presets import PRESETS, preset_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(panel):
    return page_with(panel.project, "guess_minutes")


def current(response):
    return [card.value for card in response.context["preset_cards"] if card.is_current]


def test_the_page_says_which_preset_the_values_are(panel, page):
    assert current(panel.as_("owner").get(page)) == ["standard"]
    Project.objects.filter(pk=panel.project.pk).update(guess_minutes=11)
    assert current(panel.as_("owner").get(page)) == ["custom"]


def test_a_chosen_preset_sets_the_fields_that_were_left_alone(panel, page):
    client = panel.as_("owner")
    assert client.post(page, values_on(client, page) | {"preset": "strict"}).status_code == 302
    panel.project.refresh_from_db()
    assert preset_of(panel.project) == "strict"


def test_fields_that_were_changed_hold_whatever_preset_was_chosen(panel, page):
    client = panel.as_("owner")
    client.post(page, values_on(client, page) | {"preset": "strict", "guess_minutes": 11})
    panel.project.refresh_from_db()
    assert (panel.project.guess_minutes, panel.project.guess_heavy) == (11, 500)


@pytest.mark.parametrize("preset", ["custom", "standard", ""])
def test_what_is_no_other_preset_changes_nothing(panel, page, preset):
    client = panel.as_("owner")
    client.post(page, values_on(client, page) | {"preset": preset})
    panel.project.refresh_from_db()
    assert preset_of(panel.project) == "standard"


def test_a_preset_is_chosen_on_its_section_alone(panel):
    client, other = panel.as_("owner"), page_with(panel.project, "sends_per_day")
    client.post(other, values_on(client, other) | {"preset": "strict"})
    panel.project.refresh_from_db()
    assert preset_of(panel.project) == "standard"


def test_who_may_not_change_it_reads_the_presets(panel, page):
    Membership.objects.filter(project=panel.project).update(role=Role.ANALYST)
    text = panel.as_("owner").get(page).content.decode()
    assert text.count('name="preset"') == len(PRESETS) + 1 == text.count(" disabled>")


def test_every_setting_that_is_a_number_has_a_unit():
    fields = [Project._meta.get_field(name) for name in SETTABLE]
    numbers = [each for each in fields if isinstance(each, models.IntegerField | models.FloatField)]
    assert [each.name for each in numbers if not each.choices and not unit_of(each)] == []
