"""Write src/countries.js: how every country's numbers are called, and written.

Run it in the service's environment, which has the numbering plans: ``python generate_countries.py``.
"""

from pathlib import Path

import phonenumbers
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneMetadata, PhoneNumberFormat, PhoneNumberType

DIGITS = "0123456789abcdefghij"
TARGET = Path(__file__).parent / "src" / "countries.js"
HEADER = """// Written by generate_countries.py from the numbering plans of libphonenumber: do not edit.
// A country is its ISO code and calling code, the trunk prefix, the lengths of a mobile number's groups and those that
// numbers can have, in base 36, and the prefix of calls abroad, where that is not 00.
// Of countries that share a calling code the main one comes first.
"""


def entry(region: str) -> str:
    """Return a country as ``CU53:0:17:8a:119``: groups of 1 and 7 digits after +53, 8 or 10 digits in all."""
    example = phonenumbers.example_number_for_type(region, PhoneNumberType.MOBILE)
    example = example or phonenumbers.example_number(region)
    shown = phonenumbers.format_number(example, PhoneNumberFormat.INTERNATIONAL)
    groups = "".join(c if c.isdigit() or c == "+" else " " for c in shown).split()[1:]
    plan = PhoneMetadata.metadata_for_region(region)
    shape = "".join(DIGITS[len(group)] for group in groups)
    lengths = "".join(DIGITS[length] for length in sorted(possible_lengths(plan)))
    prefix = plan.international_prefix.replace("?:", "").replace(r"\d", "[0-9]")
    prefix = "" if prefix == "00" else prefix
    return f"{region}{example.country_code}:{plan.national_prefix or ''}:{shape}:{lengths}:{prefix}"


def possible_lengths(plan: PhoneMetadata) -> set[int]:
    """Return how long the numbers of people can be. A type that the country lacks has the length -1."""
    types = [plan.mobile, plan.fixed_line, plan.voip, plan.personal_number]
    lengths = {length for each in types if each for length in each.possible_length or plan.general_desc.possible_length}
    return lengths - {-1}


def table() -> str:
    """Return the module's text."""
    regions = [region for group in COUNTRY_CODE_TO_REGION_CODE.values() for region in group if region != "001"]
    entries = [entry(region) for region in dict.fromkeys(regions)]
    return f'{HEADER}export const COUNTRIES =\n  "{" ".join(entries)}";\n'


if __name__ == "__main__":
    TARGET.write_text(table())
