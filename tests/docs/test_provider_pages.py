from __future__ import annotations

import re

import pytest

from providers import registry
from tests.conftest import ROOT

FOLDER = ROOT / "docs" / "providers"
GUIDES = {"README", "write-an-adapter"}
HEADINGS = ["At the vendor", "In the panel", "Receipts", "Limits and prices", "Unconfirmed"]


@pytest.mark.parametrize("type", registry.all_types())
def test_an_adapter_has_its_page(type):
    page = FOLDER / f"{type}.md"
    text = page.read_text()
    declared = [setting.name for setting in registry.adapter_class(type).declared]
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == declared
    assert all(section.strip() for section in re.split(r"^#.*$", text, flags=re.MULTILINE)[1:])
    assert f"]({page.name})" in (FOLDER / "README.md").read_text()


def test_a_page_has_its_adapter():
    ours = {type for type in registry.all_types() if registry.adapter_class(type).__module__.startswith("providers.")}
    assert {page.stem for page in FOLDER.glob("*.md")} == GUIDES | ours  # other tests add stand-ins
