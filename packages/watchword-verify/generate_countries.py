"""Write src/countries.js: every country's calling code, trunk prefix and usual grouping of a mobile number.

Run it in the service's environment, which has the numbering plans: ``python generate_countries.py``.
"""

from pathlib import Path

import phonenumbers
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE, PhoneMetadata, PhoneNumberFormat, PhoneNumberType

TARGET = Path(__file__).parent / "src" / "countries.js"
HEADER = """// Written by generate_countries.py from the numbering plans of libphonenumber: do not edit.
// A country is its ISO code and calling code, the trunk prefix, and the lengths of a mobile number's groups in base 36.
// Of countries that share a calling code the main one comes first.
"""


def entry(region: str) -> str:
    """Return a country as ``DE49:0:47``: groups of 4 and 7 digits after +49, written with a leading 0 at home."""
    example = phonenumbers.example_number_for_type(region, PhoneNumberType.MOBILE)
    example = example or phonenumbers.example_number(region)
    shown = phonenumbers.format_number(example, PhoneNumberFormat.INTERNATIONAL)
    groups = "".join(c if c.isdigit() or c == "+" else " " for c in shown).split()[1:]
    trunk = PhoneMetadata.metadata_for_region(region).national_prefix or ""
    lengths = "".join("0123456789abcdefghij"[len(group)] for group in groups)
    return f"{region}{example.country_code}:{trunk}:{lengths}"


def table() -> str:
    """Return the module's text."""
    regions = [region for group in COUNTRY_CODE_TO_REGION_CODE.values() for region in group if region != "001"]
    entries = [entry(region) for region in dict.fromkeys(regions)]
    return f'{HEADER}export const COUNTRIES =\n  "{" ".join(entries)}";\n'


if __name__ == "__main__":
    TARGET.write_text(table())
