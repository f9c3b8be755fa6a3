"""A process remembers its callers, and frees what it no longer needs."""

import gc
import weakref

import pytest

from tests import factories
from verification.core import caching
from verification.models import ApiKey, KeyKind
from verification.services.projects import keys
from verification.services.projects.keys import Callers, digest_of, issue_key

pytestmark = pytest.mark.django_db


class Clock:
    now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(keys, "time", clock)
    monkeypatch.setattr(caching, "time", clock)
    return clock


@pytest.fixture
def remembered(clock):
    return Callers()


def another_key(project):
    return digest_of(issue_key(project=project.row, kind=KeyKind.API).text)


def test_keys_of_one_project_share_one_snapshot(remembered, project):
    digests = [another_key(project) for _ in range(3)]
    assert len({remembered.read(digest).key_id for digest in digests}) == 3
    assert len({id(remembered.remembered(digest).project) for digest in digests}) == 1


def test_a_snapshot_that_another_key_has_just_brought_is_not_read_again(remembered, project, clock):
    known, other = another_key(project), another_key(project)
    remembered.read(known)
    clock.now += 0.6
    newer = remembered.read(other).project
    clock.now += 0.3
    assert remembered.remembered(known) is None
    assert remembered.read(known).project is newer


def test_nothing_is_believed_for_longer_than_a_second(remembered, project, clock):
    digest = digest_of(project.api_key)
    remembered.read(digest)
    clock.now += 0.7
    assert remembered.remembered(digest)
    clock.now += 0.2
    assert remembered.remembered(digest) is None


def test_a_revoked_key_is_unknown_at_the_next_reading(remembered, project):
    digest = digest_of(project.api_key)
    remembered.read(digest)
    ApiKey.objects.update(revoked_at="2020-01-01T00:00Z")
    assert remembered.read(digest) is None
    assert remembered.remembered(digest) is None


@pytest.mark.requirement(14)
def test_what_was_not_used_for_a_minute_is_freed(remembered, clock):
    left, busy = factories.project(), factories.project()
    snapshot = weakref.ref(remembered.read(digest_of(left.api_key)).project)
    for _ in range(20):
        remembered.read(another_key(left))
    clock.now += 61
    remembered.read(digest_of(busy.api_key))
    gc.collect()
    assert snapshot() is None
    assert remembered.remembered(digest_of(busy.api_key))
