"""Callers under suspicion are asked for a challenge."""

import pytest

from tests import factories
from verification.services.projects.snapshot import load_project
from verification.services.protection import limits
from verification.services.protection.challenges import is_caller_suspicious

STRANGER = "198.41.0.4"


@pytest.fixture
def config(project):
    return load_project(project.set(creates_per_address=2).id)


def test_who_stays_within_the_limit_of_creates_is_not_suspected(config):
    limits.count_create(config, STRANGER)
    assert not is_caller_suspicious(config, STRANGER)


def test_who_has_used_it_up_is_suspected(config):
    limits.count_create(config, STRANGER)
    limits.count_create(config, STRANGER)
    assert is_caller_suspicious(config, STRANGER)
    assert not is_caller_suspicious(config, "198.41.0.5")


def test_looking_counts_nothing(config):
    assert not any(is_caller_suspicious(config, STRANGER) for _ in range(5))


@pytest.mark.django_db
@pytest.mark.parametrize("values", [{"creates_per_address": 0}, {"server_addresses": [STRANGER]}])
def test_who_is_not_limited_is_not_suspected(values):
    config = load_project(factories.project(**values).id)
    for _ in range(3):
        limits.count_create(config, STRANGER)
    assert not is_caller_suspicious(config, STRANGER)
