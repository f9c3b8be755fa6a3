"""The presets of protection: each a whole set of sound values, from late to early."""

import pytest

from verification.models import Project
from verification.services.projects.protection_presets import FIELDS, PRESETS, RELAXED, STANDARD, STRICT, preset_of

EARLIER_IF_MORE = {"guard_country_percent", "guard_block_minutes", "guard_block_max_minutes", "guard_quiet_hours"}


def test_a_new_project_is_standard():
    assert preset_of(Project(name="New")) == STANDARD


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_sets_every_field_soundly_and_is_known_again(name):
    assert PRESETS[name].keys() == set(FIELDS)
    project = Project(name="Set", **PRESETS[name])
    project.clean_fields(exclude=[each.name for each in Project._meta.fields if each.name not in FIELDS])
    assert preset_of(project) == name


def test_other_values_are_no_presets():
    assert preset_of(Project(name="Own", guess_minutes=11)) == ""


@pytest.mark.parametrize("field", [name for name in FIELDS if not isinstance(PRESETS[STANDARD][name], str | bool)])
def test_relaxed_acts_later_than_standard_and_strict_earlier(field):
    values = [PRESETS[name][field] for name in (RELAXED, STANDARD, STRICT)]
    assert values == sorted(values, reverse=field not in EARLIER_IF_MORE)


def test_blocks_and_attacks_grow_in_each_preset():
    for values in PRESETS.values():
        assert values["guard_block_minutes"] < values["guard_block_max_minutes"]
        assert values["guess_assumed"] < values["guess_heavy"]
        assert values["guess_subnet_tries"] < values["guess_subnet_day"]
