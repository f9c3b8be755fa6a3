"""Setting up an authenticator app, where its page is opened more than once."""

import pytest
from django.contrib.auth.models import User
from django.db import connection

from tests.live import at_once
from verification.models import SecondFactor
from verification.services.users import second_factor


@pytest.mark.django_db(transaction=True)
def test_pages_that_are_opened_at_once_take_turns():
    user = User.objects.create_user("ann", is_staff=True)

    def begin(_number):
        try:
            return second_factor.begin(user)[0]
        finally:
            connection.close()

    shown = at_once(6, begin)
    assert [each for each in shown if isinstance(each, Exception)] == []
    assert SecondFactor.objects.get(user=user).pk in shown
