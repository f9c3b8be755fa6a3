"""Each requirement of docs/engineering/security.md that is met has a test that would find it broken."""

from tests.conftest import ROOT
from tests.requirements import by_requirement

PAGE = (ROOT / "docs" / "engineering" / "security.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| R")]
STATES = ("met", "met differently: ", "not applicable", "not met")
UNTESTED = ("not ", "met by a page")


def test_every_requirement_has_one_row_in_order():
    assert [row[0] for row in ROWS] == [f"R{number}" for number in range(1, len(ROWS) + 1)]
    assert {len(row) for row in ROWS} == {4}


def test_what_is_met_has_a_test():
    tested = by_requirement()
    for number, requirement, how, state in ROWS:
        assert requirement and how and state.startswith(STATES), number
        assert tested.get(int(number[1:])) or state.startswith(UNTESTED), number


def test_a_test_names_a_requirement_that_there_is():
    assert max(by_requirement()) <= len(ROWS)
