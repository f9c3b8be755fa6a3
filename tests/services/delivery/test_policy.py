"""The table of what each outcome leads to, and the page that shows it."""

from dataclasses import fields
from pathlib import Path

import pytest

from providers.errors import Outcome
from verification.services.delivery.policy import POLICY, Policy

PAGE = Path(__file__).resolve().parents[3] / "docs" / "delivery.md"
SIGNS = {True: "yes", False: "no", None: "–"}


def told():
    """The page's rows, by the outcome each begins with."""
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().splitlines()
        if line.startswith("| `")
    ]
    return {row[0].strip("`"): row[2:] for row in cells}


def test_every_outcome_has_a_policy():
    assert set(POLICY) == set(Outcome)


def test_the_page_on_delivery_shows_the_policy():
    assert told() == {
        outcome.value: [SIGNS[getattr(policy, field.name)] for field in fields(Policy)]
        for outcome, policy in POLICY.items()
    }


@pytest.mark.parametrize("policy", POLICY.values(), ids=POLICY)
def test_only_a_message_that_goes_on_is_offered_again(policy):
    assert policy.next_provider or not policy.again
