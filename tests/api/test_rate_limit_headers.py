"""What an answer tells its caller of the limits that it counted against."""

import pytest

from tests.api.calls import problem
from tests.fakes.outage import cache_away, lose_counts

pytestmark = pytest.mark.django_db

STRANGER = "198.41.0.4"  # a public address
POLICY = '"creates_per_address";q=2;w=600'


@pytest.fixture(autouse=True)
def no_counts_of_before(long_second):
    lose_counts()


@pytest.fixture
def project(project):
    return project.set(creates_per_address=2, requests_per_second=5)


def told(answer):
    return answer.headers.get("RateLimit-Policy"), answer.headers.get("RateLimit")


def create(api, address=STRANGER):
    api.client.defaults["REMOTE_ADDR"] = address
    return api.create(send=False)


def test_creates_tell_what_is_left_for_this_address(api):
    assert [told(create(api)) for _ in range(2)] == [
        (POLICY, '"creates_per_address";r=1'),
        (POLICY, '"creates_per_address";r=0'),
    ]
    refused = create(api)
    assert problem(refused) == (429, "rate_limited")
    assert told(refused) == (POLICY, f'"creates_per_address";r=0;t={refused["Retry-After"]}')


def test_who_is_refused_from_memory_is_told_too(api):
    for _ in range(3):
        create(api)
    lose_counts()
    refused = create(api)
    assert told(refused) == (POLICY, f'"creates_per_address";r=0;t={refused["Retry-After"]}')


def test_each_process_tells_its_own_count_while_the_cache_is_away(api, settings):
    with cache_away(settings):
        assert told(create(api)) == (POLICY, '"creates_per_address";r=1')


def test_a_refusal_for_another_reason_tells_it_too(api):
    api.client.defaults["REMOTE_ADDR"] = STRANGER
    answer = api.create(type="email")
    assert problem(answer) == (409, "channel_not_available")
    assert told(answer) == (POLICY, '"creates_per_address";r=1')


def test_an_address_without_a_limit_is_told_of_none(api):
    assert told(create(api, "127.0.0.1")) == (None, None)


def test_the_projects_second_is_told_to_its_own_server(api):
    assert told(api.manual_send()) == ('"requests_per_second";q=5;w=3600', '"requests_per_second";r=4')


def test_requests_that_count_nowhere_tell_nothing_of_those_before(api):
    create(api)
    assert told(api.settings()) == told(api.manual_channels()) == (None, None)


def test_puzzles_tell_what_is_left(api, project):
    project.set(challenge_mode="always", challenge_provider="altcha")
    api.client.defaults["REMOTE_ADDR"] = STRANGER
    answer = api.puzzle(project.row.public_id)
    assert answer.status_code == 200
    assert told(answer) == ('"puzzles_per_address";q=300;w=60', '"puzzles_per_address";r=299')
