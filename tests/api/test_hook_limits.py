"""A web process takes so many calls of providers in a second, and no more."""

from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from tests import factories
from tests.api.calls import problem
from verification.models import Decision, Provider
from verification.services.protection import hook_limits
from verification.services.providers.accounts import hook_url

pytestmark = pytest.mark.django_db

REFUSED = (429, "rate_limited")
MOST = 3


@pytest.fixture(autouse=True)
def _few(settings):
    settings.HOOKS_PER_SECOND = MOST


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The clock of the counts, which stands still until it is set on."""
    made = SimpleNamespace(now=1000.0)
    made.monotonic = lambda: made.now
    monkeypatch.setattr(hook_limits, "time", made)
    return made


@pytest.fixture
def provider(project):
    return Provider.objects.get(project=project.row, channel="sms")


def report(api, provider, *, padding=0, **environ):
    body = {"id": "x", "status": "success", "padding": "x" * padding}
    return api.call("POST", urlsplit(hook_url(provider)).path, body, headers={"x-signature": "right"}, **environ)


def unknown(api, number=0, **environ):
    return api.call("POST", f"/hooks/0b7d3f0e-5a3b-4c7e-9d55-{number:012}/secret", {}, **environ)


@pytest.mark.requirement(68)
def test_a_flood_of_one_project_costs_the_database_nothing(api, provider, django_assert_num_queries):
    assert [report(api, provider).status_code for _ in range(MOST)] == [200] * MOST
    report(api, provider)  # of the first refusal a line is written for the owner
    with django_assert_num_queries(0):
        refused = report(api, provider)
    assert problem(refused) == REFUSED
    assert refused["Retry-After"] == "1"


def test_the_next_second_is_a_new_one(api, provider, clock):
    assert [report(api, provider).status_code for _ in range(MOST + 1)][-1] == 429
    clock.now += 1
    assert report(api, provider).status_code == 200


def test_all_providers_of_a_project_count_together(api, project, provider):
    another = project.provider("sms", name="another")
    answers = [report(api, each).status_code for each in [provider, another] * MOST]
    assert answers == [200] * MOST + [429] * MOST


def test_other_projects_are_not_touched(api, provider):
    neighbour = Provider.objects.get(project=factories.project().row, channel="sms")
    assert [report(api, provider).status_code for _ in range(MOST + 1)][-1] == 429
    assert report(api, neighbour).status_code == 200


def test_the_operators_own_providers_have_no_limit(api, project):
    system = factories.provider(project=None, channel="sms", type="collector", name="system", settings={"name": "s"})
    assert {report(api, system).status_code for _ in range(MOST + 1)} == {200}


def test_a_long_call_counts_for_several(api, provider):
    assert report(api, provider, padding=MOST * hook_limits.CALL_BYTES).status_code == 200
    assert problem(report(api, provider)) == REFUSED


def test_the_owner_finds_it_in_the_decision_log(api, project, provider):
    for _ in range(MOST + 1):
        report(api, provider)
    noted = Decision.objects.get(project=project.row)
    assert (noted.rule, noted.subject, noted.refused) == ("hooks_per_second", "whole project", 1)


@pytest.mark.requirement(68)
def test_a_search_for_addresses_costs_the_database_nothing(api, django_assert_num_queries):
    answers = [unknown(api, number).status_code for number in range(hook_limits.UNKNOWN_PER_SECOND)]
    assert set(answers) == {404}
    with django_assert_num_queries(0):
        assert problem(unknown(api, 99)) == REFUSED
    assert unknown(api, REMOTE_ADDR="198.41.0.4").status_code == 404


def test_who_reports_to_a_known_address_beside_it_is_heard(api, provider):
    """A vendor may go on reporting for accounts that were deleted."""
    report(api, provider)
    for number in range(hook_limits.UNKNOWN_PER_SECOND + 1):
        unknown(api, number)
    assert report(api, provider).status_code == 200


def test_an_address_that_is_nobodys_any_more_counts_as_unknown(api, provider):
    report(api, provider)
    path = urlsplit(hook_url(provider)).path
    provider.delete()
    answers = [api.call("POST", path, {}).status_code for _ in range(hook_limits.UNKNOWN_PER_SECOND + 1)]
    assert answers == [404] * hook_limits.UNKNOWN_PER_SECOND + [429]
