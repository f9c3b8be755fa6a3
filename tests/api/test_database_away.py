"""Nothing is accepted while the database is away, and afterwards everything is as before."""

import pytest

from tests.api.calls import problem
from tests.fakes.outage import database_away
from verification import memory
from verification.models import Session

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("is_key_known", [True, False])
def test_with_the_database_away_nothing_is_accepted(api, is_key_known):
    assert api.channels().status_code == 200
    if not is_key_known:
        memory.forget_all()
    with database_away():
        response = api.create()
    assert problem(response) == (503, "service_unavailable")
    assert response["Retry-After"] == str(response.data["retry_after"])
    assert not Session.objects.exists()


def test_once_the_database_is_back_the_next_request_is_answered(api):
    with database_away():
        api.create()
    assert api.create().status_code == 200
