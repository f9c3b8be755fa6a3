"""What Docker and git take from a checkout, and what compose hands to each container."""

import pytest

from tests.conftest import ROOT


@pytest.mark.parametrize(
    ("file", "names"),
    [
        (".dockerignore", {"**/.env", "**/.env.*", "**/*.env", ".git", "var"}),
        (".gitignore", {".env", ".env.*", "*.env", "var/"}),
    ],
)
def test_secrets_in_a_checkout_go_neither_into_the_image_nor_into_git(file, names):
    lines = (ROOT / file).read_text().splitlines()
    assert names <= set(lines)
    assert [line for line in lines if line.startswith("!")] == []  # nothing is let back in
