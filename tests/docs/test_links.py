"""The links of the Markdown files: every relative one, and every anchor, leads somewhere."""

import re

import pytest

from tests.conftest import ROOT
from verification.api.reference.guides import anchor

PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/README.md"), *ROOT.glob("*.md")]
)
LINK = re.compile(r"\]\((?P<path>[^)\s#]*)(?:#(?P<anchor>[^)\s]*))?\)")


def prose(path):
    """The text without its blocks and spans of code."""
    return re.sub(
        r"`[^`\n]*`", "code", re.sub(r"^ *```.*?^ *```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    )


def anchors(path):
    text = re.sub(r"^ *```.*?^ *```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    seen = {}
    for heading in re.findall(r"^#+ (.+?)#*$", text, re.MULTILINE):
        name = anchor(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip(), "-")
        seen[name] = seen.get(name, -1) + 1
    again = {f"{name}-{number}" for name, count in seen.items() for number in range(1, count + 1)}
    return {*seen, *again, *re.findall(r'\bid="([^"]+)"', text)}


@pytest.mark.parametrize("page", PAGES)
def test_every_relative_link_leads_to_a_file_and_every_anchor_to_a_heading(page):
    path = ROOT / page
    broken = []
    for link in LINK.finditer(prose(path)):
        if re.match(r"[a-z]+:|/", link["path"]):
            continue  # another site, or a page that the service serves: tests/api/reference/test_guides.py opens those
        target = (path.parent / link["path"]).resolve() if link["path"] else path
        if not target.exists() or (link["anchor"] and target.suffix == ".md" and link["anchor"] not in anchors(target)):
            broken.append(link[0])
    assert broken == []
