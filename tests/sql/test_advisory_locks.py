"""The advisory locks of the service: each number is of one purpose."""

import re
from collections import defaultdict

from tests.conftest import ROOT

NAMED = re.compile(r"\b729_?4_?(?:0|_)*\d+\b|\b7_294_\d{3}\b")
SHARED = {7294005: "count"}  # all that counts waits for all that counts: its files begin so


def test_no_two_purposes_share_a_lock():
    files = defaultdict(set)
    for path in [*ROOT.glob("verification/**/*.py"), *ROOT.glob("verification/**/*.sql")]:
        if "migrations" not in path.parts:
            for number in NAMED.findall(path.read_text()):
                files[int(number.replace("_", ""))].add(path.name)
    assert len(files) > 5
    for number, names in files.items():
        assert len(names) == 1 or all(name.startswith(SHARED.get(number, "-")) for name in names), (number, names)
