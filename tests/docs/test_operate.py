"""docs/operate.md has every kind of alert, as a program behind ``alert_url`` reads it."""

import re
from importlib import import_module

from tests.snippets import ROOT


def test_it_lists_every_kind_of_alert():
    kinds = set()
    for file in (ROOT / "verification" / "services").rglob("*.py"):
        kinds |= set(re.findall(r'^\w*KIND = "(\w+)"', text := file.read_text(), re.MULTILINE))
        if "raise_alert(" in text:
            module = import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))
            kinds |= {getattr(module, name, name) for name in re.findall(r'\bkind="?(\w+)', text)} - {"kind"}
    for file in (ROOT / "verification" / "sql").rglob("*.sql"):
        kinds |= set(re.findall(r"raise_alert\(\s*[\w.]+, '(\w+)'", file.read_text()))
    table = (ROOT / "docs" / "operate.md").read_text().partition("\n| kind | when |\n")[2].partition("\n\n")[0]
    listed = [name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(listed) == sorted(kinds)
