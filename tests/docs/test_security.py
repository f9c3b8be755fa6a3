"""docs/security.md names a test for what it claims; here the page is held to it."""

import ast
import re

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text()
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| R")]
STATES = ("met", "met differently: ", "not applicable", "not met")
COUNT = 120


def functions_of(file):
    return {node.name for node in ast.parse((ROOT / file).read_text()).body if isinstance(node, ast.FunctionDef)}


def test_every_requirement_has_one_row_in_order():
    assert [row[0] for row in ROWS] == [f"R{number}" for number in range(1, COUNT + 1)]
    assert {len(row) for row in ROWS} == {5}


def test_its_state_is_told_and_what_is_met_names_a_test():
    for number, requirement, how, tests, state in ROWS:
        assert requirement and how and state.startswith(STATES), number
        assert tests or state.startswith("not "), number


def test_every_test_that_is_named_is_there():
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) == PAGE.count("::")
    there = {file: functions_of(file) for file in {file for file, _ in named}}
    assert [f"{file}::{name}" for file, name in named if name not in there[file]] == []


def test_every_page_that_is_named_is_there():
    for name in re.findall(r"\]\(([\w./]+\.md)\)", PAGE):
        assert (ROOT / "docs" / name).exists(), name


def test_integrators_are_told_what_a_code_is_worth():
    text = (ROOT / "docs" / "integrate.md").read_text()
    told = " ".join(text.partition("### What a code is worth")[2].partition("\n## ")[0].split())
    for said in ("*restricted authenticator*", "only verify does", "not a second factor"):
        assert said in told
