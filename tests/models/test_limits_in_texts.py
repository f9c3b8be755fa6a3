"""The defaults of a project's limits: told alike in the description of the API and in the guides."""

import re

import pytest

from tests.conftest import ROOT
from verification.models import Project


def of(*names):
    return [str(Project._meta.get_field(name).default) for name in names]


SENDS = of("sends_per_10_minutes", "sends_per_hour", "sends_per_day")
WRONG_CODES = of("wrong_codes_per_15_minutes", "wrong_codes_per_day")
SENDS_IN_WORDS = r"(\d+) in 10 minutes, (\d+) an hour,?(?: and)? (\d+) a\s+day"
PLACES = [
    ("verification/api/reference/operations.py", r"(\d+) messages in 10 minutes, (\d+) an hour and (\d+) a day", SENDS),
    ("verification/api/reference/operations.py", r"(\d+) wrong codes in 15 minutes or (\d+) in a day", WRONG_CODES),
    ("verification/api/reference/operations.py", r"(\d+) wrong codes in 15 minutes and (\d+) in a day", WRONG_CODES),
    ("docs/from-twilio.md", SENDS_IN_WORDS, SENDS),
    ("docs/from-twilio.md", r"wrong codes to (\d+) in 15 minutes\s+and (\d+) a day", WRONG_CODES),
    ("docs/manual-sends.md", SENDS_IN_WORDS, SENDS),
    ("docs/security.md", SENDS_IN_WORDS, SENDS),
    ("docs/security.md", r"(\d+) in 10 minutes \(IPv6", of("creates_per_address")),
    ("verification/api/reference/headers.py", r'"creates_per_address";q=(\d+);', of("creates_per_address")),
]


@pytest.mark.parametrize(("place", "words", "expected"), PLACES)
def test_each_place_tells_the_default(place, words, expected):
    [told] = re.findall(words, (ROOT / place).read_text())
    assert ([told] if isinstance(told, str) else list(told)) == expected
