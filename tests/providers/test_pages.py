from __future__ import annotations

import re
from pathlib import Path

import pytest

from providers import registry

FOLDER = Path(__file__).parents[2] / "docs" / "providers"
PAGES = sorted(path for path in FOLDER.glob("*.md") if path.name != "README.md")
HEADINGS = ["At the vendor", "In the panel", "Receipts", "Limits and prices", "How it was tried", "Unconfirmed"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_provider_s_page_is_that_of_its_adapter(page):
    text = page.read_text()
    declared = [setting.name for setting in registry.adapter_class(page.stem).declared]
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == declared
    assert all(section.strip() for section in re.split(r"^#.*$", text, flags=re.MULTILINE)[1:])
    assert f"]({page.name})" in (FOLDER / "README.md").read_text()
