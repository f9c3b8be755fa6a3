"""The documentation as a static site: MkDocs builds it without a warning, so no link of it is broken."""

import subprocess

import pytest

from tests.live import ROOT

MKDOCS = ROOT / "var/site/bin/mkdocs"

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]


def test_the_site_is_built_without_a_broken_link_and_has_every_page(tmp_path):
    if not MKDOCS.is_file():
        pytest.skip(
            "MkDocs is not installed: python3 -m venv var/site && var/site/bin/pip install -r requirements/site.txt"
        )
    built = subprocess.run(["website/build", "--site-dir", tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    guides = ("", "integrate", "settings", "providers/smpp", "changelog")
    for page in (*guides, "project-settings", "reference", "errors/channel_timeout"):
        assert (tmp_path / page / "index.html").is_file(), page
    assert (tmp_path / "openapi.json").is_file()
    assert "https://fonts." not in (tmp_path / "index.html").read_text()
