"""Ids of requests: ours tell their time, and a caller's is taken for one of ours only where that changes nothing."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from verification.core import request_ids

OLD = "0197a0c0d2b87000a000000000000000"  # a UUID of version 7 of June 2025


def test_an_id_is_a_uuid_of_version_7_that_tells_its_time_and_no_two_are_alike():
    drawn = {request_ids.generate_request_id() for _ in range(1_000)}
    assert len(drawn) == 1_000
    assert {(UUID(each).version, UUID(each).variant) for each in drawn} == {(7, UUID(OLD).variant)}
    assert all(abs(request_ids.time_of_request_id(each) - datetime.now(UTC)) < timedelta(seconds=30) for each in drawn)


@pytest.mark.parametrize("request_id", ["", "order-4711", "0" * 32, OLD.upper(), OLD[:-1], OLD + "0", str(UUID(OLD))])
def test_other_ids_tell_no_time(request_id):
    assert request_ids.time_of_request_id(request_id) is None
    assert request_ids.request_id_columns(request_id) == (None, request_id)


def test_an_id_of_no_possible_time_tells_none():
    assert request_ids.time_of_request_id("f" * 12 + OLD[12:]) is None


def test_a_caller_s_id_that_tells_another_time_is_kept_as_the_caller_s_own():
    drawn = request_ids.generate_request_id()
    assert request_ids.time_of_request_id(OLD).year == 2025
    assert request_ids.request_id_columns(OLD) == (None, OLD)
    assert request_ids.request_id_columns(drawn) == (drawn, "")
    assert request_ids.format_request_id(UUID(drawn), "") == drawn and request_ids.format_request_id(None, OLD) == OLD
