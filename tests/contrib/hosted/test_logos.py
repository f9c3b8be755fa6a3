"""Logos: what is stored is a PNG of the pixels alone."""

import pytest

from tests.contrib.hosted.pictures import chunk, png
from verification.contrib.hosted.logos import MAX_BYTES, SIGNATURE, clean_logo
from verification.core.errors import UserError


@pytest.mark.requirement(116)
def test_nothing_but_the_pixels_is_kept():
    hidden = png(more=[(b"tEXt", b"Comment\0<script>alert(1)</script>"), (b"iCCP", b"profile")], behind=b"<script>")
    assert clean_logo(hidden) == clean_logo(png())
    assert b"script" not in clean_logo(hidden)


def test_a_logo_that_was_cleaned_is_cleaned_to_itself():
    assert clean_logo(clean_logo(png())) == clean_logo(png())


def test_a_palette_and_its_transparency_stay():
    rows = b"\x00\x00\x01" * 2
    palette = (b"PLTE", b"\x00\x00\x00\xff\xff\xff")
    made = clean_logo(png(2, 2, colour=3, rows=rows, more=[palette, (b"tRNS", b"\x00\xff")]))
    assert chunk(*palette) in made and chunk(b"tRNS", b"\x00\xff") in made


@pytest.mark.requirement(116)
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "must be a PNG"),
        (b"GIF89a", "must be a PNG"),
        (b"", "must be a PNG"),
        (SIGNATURE, "not a valid PNG"),
        (png()[:-3], "not a valid PNG"),
        (png()[:40] + b"\xff" + png()[41:], "not a valid PNG"),
        (png(rows=b"\x00"), "not a valid PNG"),
        (png(rows=b"\x09" * 26), "not a valid PNG"),
        (png(colour=3), "not a valid PNG"),
        (png(colour=5), "not a valid PNG"),
        (png(5000, 5000, rows=b""), "5000 × 5000"),
        (png(0, 5, rows=b""), "0 × 5"),
        (png(interlacing=1), "interlac"),
        (b"\x89PNG" + b"x" * MAX_BYTES, "kB"),
    ],
)
def test_what_is_no_small_picture_is_refused_in_one_sentence(data, said):
    with pytest.raises(UserError, match=said):
        clean_logo(data)


@pytest.mark.requirement(116)
def test_a_picture_that_unpacks_to_far_more_than_its_size_is_not_unpacked():
    bomb = png(10, 10, rows=b"\x00" * 50_000_000)
    assert len(bomb) < MAX_BYTES
    assert len(clean_logo(bomb)) < 1_000  # the rows that the size names, and no more
