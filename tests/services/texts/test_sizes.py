"""The size of a text, by the same table as the panel's script."""

import json
from pathlib import Path

import pytest

from verification.services.texts.sizes import measure

CASES = json.loads((Path(__file__).parent / "sizes.json").read_text())
LONG = [
    ("x" * 160, 1),
    ("x" * 161, 2),
    ("x" * 159 + "€", 2),
    ("x" * 306, 2),
    ("x" * 307, 3),
    ("x" * 152 + "€" + "x" * 152, 3),  # the escape sequence is not cut, so the first part is one short
    ("я" * 70, 1),
    ("я" * 71, 2),
    ("я" * 66 + "🔐" + "я" * 66, 3),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"][:20])
def test_the_size_is_told_in_words_with_a_remedy(case):
    size = measure(case["text"])
    assert (size.line, size.note, size.remedies) == (case["line"], case["note"], case.get("remedies", {}))


@pytest.mark.parametrize(("text", "number"), LONG)
def test_the_parts_are_the_text(text, number):
    size = measure(text)
    assert (size.segments, "".join(size.parts)) == (number, text)


def test_what_is_written_instead_is_in_the_alphabet():
    from providers.parsing import gsm
    from verification.services.texts.sizes import REPLACEMENTS

    assert all(gsm.is_gsm7(plain) and not gsm.is_gsm7(each) for each, plain in REPLACEMENTS.items())
