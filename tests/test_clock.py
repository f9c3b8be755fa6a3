"""The tests' own clock."""

from datetime import timedelta

import pytest
from django.utils import timezone

from tests import clock
from verification.models import Decision

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("order", [1, -1])
def test_time_passes_for_rows_of_which_one_takes_the_others_place(project, order):
    this_hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    hours = [this_hour - timedelta(hours=ago) for ago in range(3)][::order]
    for hour in hours:
        Decision.objects.create(project=project.row, rule="prefix", subject="+491511234", hour=hour)
    clock.forward(clock.HOUR)
    moved = set(Decision.objects.values_list("hour", flat=True))
    assert moved == {hour - timedelta(hours=1) for hour in hours}
