"""The owner's log of refusals."""

import pytest

from verification.models import Decision
from verification.services.records.decisions import record

pytestmark = pytest.mark.django_db


def noted(project, subject="KP", rule="country", **figures):
    record(project_id=project.id, rule=rule, subject=subject, figures=figures)


def test_one_row_counts_the_hour_and_keeps_the_last_figures(project):
    for number in range(3):
        noted(project, numbers=number)
    row = Decision.objects.get()
    assert (row.count, row.figures) == (3, {"numbers": 2})
    assert row.first_at <= row.last_at
    assert row.hour.minute == 0


def test_each_rule_and_subject_has_a_row_of_its_own(project):
    noted(project)
    noted(project, "IR")
    noted(project, rule="prefix")
    assert Decision.objects.count() == 3


def test_whoever_is_refused_cannot_fill_the_table(project):
    for number in range(210):
        noted(project, f"+49151******{number}")
    noted(project, "+49151******0")  # one that has its row goes on counting there
    assert Decision.objects.count() == 201
    assert Decision.objects.get(subject="others").count == 10
    assert Decision.objects.get(subject="+49151******0").count == 2
