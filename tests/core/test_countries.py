"""Countries by code and English name."""

import phonenumbers
import pytest

from verification.core import countries


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Morocco", "MA"),
        ("  morocco ", "MA"),
        ("ma", "MA"),
        ("Turkey", "TR"),
        ("Türkiye", "TR"),
        ("Cote d'Ivoire", "CI"),
        ("Saint Lucia", "LC"),
        ("Trinidad and Tobago", "TT"),
        ("UK", "GB"),
        ("Atlantis", None),
        ("", None),
    ],
)
def test_a_country_is_known_by_code_and_names(text, code):
    assert countries.country_of(text) == code


def test_every_country_with_numbers_is_known():
    assert {countries.country_of(code) for code in phonenumbers.SUPPORTED_REGIONS} == set(
        phonenumbers.SUPPORTED_REGIONS
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("DE, fr\nMorocco", ["DE", "FR", "MA"]),
        ("United Kingdom United States", ["GB", "US"]),
        ("Germany; Bosnia & Herzegovina", ["DE", "BA"]),
        ("DE FR MA", ["DE", "FR", "MA"]),
        ("New Atlantis, DE", ["New Atlantis", "DE"]),
        ("Atlantis DE", ["Atlantis", "DE"]),
        ("", []),
        (" ,\n", []),
    ],
)
def test_a_pasted_list_is_read_and_keeps_what_is_no_country(text, found):
    assert countries.read_countries(text) == found


def test_a_country_is_named_with_its_code():
    assert (countries.named("BR"), countries.named("ZZ"), countries.named("")) == ("Brazil (BR)", "ZZ", "")
