"""The tests of each requirement of docs/engineering/security.md: `python -m tests.requirements 29` names those of
R29, without a number of all. A test says by `@pytest.mark.requirement(29)` what it would find broken.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def by_requirement() -> dict[int, list[str]]:
    """Return the ids of the marked tests, by the number of the requirement."""
    found = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            for decorator in getattr(node, "decorator_list", []):
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.requirement":
                    for number in decorator.args:
                        found[ast.literal_eval(number)].append(f"{path.relative_to(ROOT)}::{node.name}")
    return found


if __name__ == "__main__":
    wanted = [int(text.lstrip("R")) for text in sys.argv[1:]]
    for number, tests in sorted(by_requirement().items()):
        if number in (wanted or [number]):
            print(f"R{number}", *tests, sep="\n  ")
