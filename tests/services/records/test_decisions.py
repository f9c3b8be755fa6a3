"""The owner's log of refusals."""

import ast

import pytest

from tests.conftest import ROOT
from verification.core.errors import DecisionRecord
from verification.models import Decision
from verification.services.records.decisions import RULES, record

pytestmark = pytest.mark.django_db


def noted(project, subject="KP", rule="country", **figures):
    record(project_id=project.id, rule=rule, subject=subject, figures=figures)


def test_every_rule_that_a_refusal_names_has_its_words():
    """Without them the log shows a name of ours, and a flood of refusals is written one by one."""
    named = set()
    for path in (ROOT / "verification").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == DecisionRecord.__name__:
                named |= {rule.value for rule in node.args[1:2] if isinstance(rule, ast.Constant)}
    assert named >= {"requests_per_second", "client_address", "kill_switch"}
    assert named <= set(RULES)


@pytest.mark.requirement(98)
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
