from __future__ import annotations

import pytest

from providers.parsing import gsm
from providers.parsing.gsm import is_gsm7, length, octets, segments


def test_the_table_has_its_127_characters_and_its_ten_extensions():
    assert (len(gsm.BASIC), len(gsm.EXTENSION)) == (127, 10)
    assert not gsm.BASIC & gsm.EXTENSION


@pytest.mark.parametrize(
    "text", ["", "Your code is 4711", "@£$ ÄÖÜäöüß Çà", "Σ ΔΦ", "€ ^{}\\[~]|\f", "a\r\nb", "o'zbek"]
)
def test_it_knows_what_the_alphabet_can_write(text):
    assert is_gsm7(text)


@pytest.mark.parametrize("character", ["ç", "`", "ё", "“", "—", "\u00a0", "\u02bb", "\u02bc", "😀", "\t", "\x1b", "á"])
def test_it_knows_what_the_alphabet_lacks(character):
    assert not is_gsm7(f"code {character}")


@pytest.mark.parametrize(
    ("text", "units"),
    [("", 0), ("abc", 3), ("€", 2), ("a{b}", 6), ("код", 3), ("код €", 5), ("😀", 2), ("é", 1)],
)
def test_it_counts_septets_or_utf_16_units(text, units):
    assert length(text) == units


@pytest.mark.parametrize(("text", "size"), [("", 0), ("a" * 160, 140), ("a" * 161, 141), ("к" * 70, 140)])
def test_it_counts_octets_as_they_travel(text, size):
    assert octets(text) == size


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 1),
        ("a" * 160, 1),
        ("a" * 161, 2),
        ("a" * 306, 2),
        ("a" * 307, 3),
        ("€" * 80, 1),
        ("€" * 80 + "a", 2),
        ("€" * 152, 2),  # 76 to a part: no escape is parted from its septet
        ("€" * 153, 3),
        ("ы" * 70, 1),
        ("ы" * 71, 2),
        ("ы" * 134, 2),
        ("ы" * 135, 3),
        ("😀" * 35, 1),
        ("😀" * 36, 2),
        ("😀" * 66, 2),  # 33 to a part: no pair is parted
        ("😀" * 67, 3),
    ],
)
def test_it_counts_the_parts(text, count):
    assert segments(text) == count
